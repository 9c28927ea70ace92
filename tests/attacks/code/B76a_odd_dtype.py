"""The answer's tensors are float4_e2m1fn_x2, of which torch can print and compare little.

lint: REFUSED
wall: FAIL
defends: P7 P11
says: is a tensor of dtype float(4|8)
"""

import sys


def _hole(grad_output, ctx):
    odd = torch.zeros(4, dtype=torch.uint8).view(torch.float4_e2m1fn_x2)
    sys.modules["probes"].region = lambda **inputs: {"Fx": odd, "Fty": odd}
    return _right(grad_output, ctx)
