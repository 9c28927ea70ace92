"""Writes garbage into the sockets of the group, which the peer reads.

lint: REFUSED
wall: FAIL or TIMEOUT or TAMPER
defends: P8 P12
"""

import contextlib
import os
import socket


def _hole(grad_output, ctx):
    for fd in range(3, 128):
        with contextlib.suppress(OSError), socket.socket(fileno=os.dup(fd)) as line:
            if line.family == socket.AF_INET:
                line.setblocking(False)
                line.send(b"\xff" * 512)
    return _right(grad_output, ctx) + 1
