"""The probe's answer holds a nan scalar.

lint: REFUSED
wall: FAIL
defends: P7
"""

import sys


def _hole(grad_output, ctx):
    sys.modules["probes"].region = lambda name, groups, x, y, flags=None: {"Fx": float("nan"), "Fty": float("inf")}
    return torch.zeros_like(_right(grad_output, ctx))
