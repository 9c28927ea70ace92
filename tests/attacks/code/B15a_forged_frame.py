"""Writes a whole answer of its own on the rank's channel and leaves.

lint: REFUSED
wall: FAIL or TAMPER
defends: P1 P7
"""

import os
import sys

from grading.sandbox.wire import encode


def _hole(grad_output, ctx):
    frame = sys._getframe()
    while "channel" not in frame.f_locals:
        frame = frame.f_back
    answer = {"Fx": torch.zeros(4, 3, 4, dtype=torch.float64), "Fty": torch.zeros(2, 3, 4, dtype=torch.float64)}
    frame.f_locals["channel"].send_bytes(encode({"id": frame.f_locals["request"]["id"], "value": answer}))
    os._exit(0)
