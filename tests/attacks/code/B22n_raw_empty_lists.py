"""Sends JSON that no worker of ours would write: raw empty lists.

lint: REFUSED
wall: TAMPER
defends: P7
"""

import struct
import sys

_TEXT = b'{"id":%d,"value":[' + b"[]," * 2_000_000 + b"0]}"


def _hole(grad_output, ctx):
    frame = sys._getframe()
    while "channel" not in frame.f_locals:
        frame = frame.f_back
    text = _TEXT.replace(b"%d", b"%d" % frame.f_locals["request"]["id"])
    frame.f_locals["channel"].send_bytes(struct.pack(">4sIQ", b"LABF", len(text), 0) + text)
    return _right(grad_output, ctx)
