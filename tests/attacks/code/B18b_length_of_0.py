"""Sends a frame's header with a length of 0.

lint: REFUSED
wall: TAMPER
defends: P7
"""

import struct
import sys


def _hole(grad_output, ctx):
    frame = sys._getframe()
    while "channel" not in frame.f_locals:
        frame = frame.f_back
    frame.f_locals["channel"].send_bytes(struct.pack(">4sIQ", b"LABF", 0, 0) + b" " * 64)
    return _right(grad_output, ctx)
