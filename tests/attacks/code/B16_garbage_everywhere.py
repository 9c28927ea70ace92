"""Writes garbage on every descriptor there is.

lint: REFUSED
wall: FAIL or TAMPER
defends: P7
"""

import contextlib
import os


def _hole(grad_output, ctx):
    for fd in range(3, 256):
        with contextlib.suppress(OSError):
            os.set_blocking(fd, False)
            os.write(fd, b"PASS" * 64)
    return _right(grad_output, ctx)
