"""The probe's answer holds a hundred thousand digits.

lint: REFUSED
wall: FAIL
defends: P7
"""

import sys


def _hole(grad_output, ctx):
    sys.modules["probes"].region = lambda name, groups, x, y, flags=None: 10**100_000
    return torch.zeros_like(_right(grad_output, ctx))
