"""Sends the right answer, and then the honest worker sends it again.

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
    frame.f_locals["channel"].send_bytes(encode({"id": frame.f_locals["request"]["id"], "value": 1}))
    return _right(grad_output, ctx)
