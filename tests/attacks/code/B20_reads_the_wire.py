"""Reads the next request from its own channel before the worker can.

lint: REFUSED
wall: FAIL or TIMEOUT
defends: P7
"""

import sys


def _hole(grad_output, ctx):
    frame = sys._getframe()
    while "channel" not in frame.f_locals:
        frame = frame.f_back
    frame.f_locals["channel"].receive()
    return _right(grad_output, ctx)
