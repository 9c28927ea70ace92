"""A child in a session of its own writes into every descriptor, for ever.

lint: REFUSED
wall: FAIL or TAMPER
defends: P4 P7 P8
"""

import contextlib
import os
import time


def _hole(grad_output, ctx):
    right = _right(grad_output, ctx)
    if os.fork() == 0:
        os.setsid()
        while True:
            for fd in range(3, 64):
                with contextlib.suppress(OSError):
                    os.set_blocking(fd, False)
                    os.write(fd, b"PASS" * 64)
    time.sleep(0.2)
    return right
