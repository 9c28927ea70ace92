"""The probe's answer holds a deep nesting.

lint: REFUSED
wall: FAIL
defends: P7
"""

import sys


def _deep(levels):
    value = []
    for _ in range(levels):
        value = [value]
    return value


def _hole(grad_output, ctx):
    sys.modules["probes"].region = lambda name, groups, x, y, flags=None: _deep(600)
    return torch.zeros_like(_right(grad_output, ctx))
