"""The probe's answer is a string of surrogates, NULs and ten million letters.

lint: REFUSED
wall: FAIL
defends: P7 P13
"""

import sys


def _hole(grad_output, ctx):
    sys.modules["probes"].region = lambda name, groups, x, y, flags=None: "\ud800\x00\x1b[2J" + "A" * 10_000_000
    return torch.zeros_like(_right(grad_output, ctx))
