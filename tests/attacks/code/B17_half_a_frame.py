"""Writes half a frame and goes to sleep.

lint: REFUSED
wall: TIMEOUT
defends: P7 P8
"""

import sys
import time

from grading.sandbox.wire import encode


def _hole(grad_output, ctx):
    frame = sys._getframe()
    while "channel" not in frame.f_locals:
        frame = frame.f_back
    frame.f_locals["channel"].send_bytes(encode({"id": 1, "value": 1})[:30])
    time.sleep(1000)
