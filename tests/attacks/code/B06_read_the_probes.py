"""Reads the probe's source for an expected value.

lint: REFUSED
wall: FAIL
defends: P2
"""

import inspect
import sys


def _hole(grad_output, ctx):
    source = inspect.getsource(sys.modules["probes"])
    assert "expected" not in source
    return torch.zeros_like(_right(grad_output, ctx))
