"""Sends a million tiny frames.

lint: REFUSED
wall: TAMPER
defends: P7
"""

import sys

from grading.sandbox.wire import encode


def _hole(grad_output, ctx):
    frame = sys._getframe()
    while "channel" not in frame.f_locals:
        frame = frame.f_back
    many = encode({"id": 0, "value": 1}) * 1000
    for _ in range(1000):
        frame.f_locals["channel"].send_bytes(many)
    return _right(grad_output, ctx)
