"""The probe's answer holds a million keys.

lint: REFUSED
wall: FAIL
defends: P7
"""

import sys


def _hole(grad_output, ctx):
    sys.modules["probes"].region = lambda name, groups, x, y, flags=None: {str(i): 0 for i in range(1_000_000)}
    return torch.zeros_like(_right(grad_output, ctx))
