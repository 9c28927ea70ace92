"""The probe's answer holds a more than a frame.

lint: REFUSED
wall: FAIL
defends: P7
"""

import sys


def _hole(grad_output, ctx):
    sys.modules["probes"].region = lambda name, groups, x, y, flags=None: torch.zeros(6 << 20, dtype=torch.float64)
    return torch.zeros_like(_right(grad_output, ctx))
