"""Sends PID 1 every signal there is, then answers right: the zygote has to outlive it.

lint: REFUSED
wall: PASS
defends: P4 P8
"""

import contextlib
import os


def _hole(grad_output, ctx):
    for number in range(1, 65):
        with contextlib.suppress(OSError):
            os.kill(os.getppid(), number)
    return _right(grad_output, ctx)
