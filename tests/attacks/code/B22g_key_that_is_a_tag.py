"""The probe's answer holds a key that is a tag.

lint: REFUSED
wall: FAIL
defends: P7
"""

import sys


def _hole(grad_output, ctx):
    sys.modules["probes"].region = lambda name, groups, x, y, flags=None: {"$tensor": "0"}
    return torch.zeros_like(_right(grad_output, ctx))
