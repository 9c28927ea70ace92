"""Sends a tensor part with a tensor beyond its frame.

lint: REFUSED
wall: TAMPER
defends: P7
"""

import struct
import sys

_HEAD = b'{"0":{"dtype":"F64","shape":[1000000],"data_offsets":[0,8000000]}}'


def _hole(grad_output, ctx):
    frame = sys._getframe()
    while "channel" not in frame.f_locals:
        frame = frame.f_back
    text = b'{"id":%d,"value":{"$tensor":"0"}}' % frame.f_locals["request"]["id"]
    blob = struct.pack("<Q", len(_HEAD)) + _HEAD + bytes(24)
    frame.f_locals["channel"].send_bytes(struct.pack(">4sIQ", b"LABF", len(text), len(blob)) + text + blob)
    return _right(grad_output, ctx)
