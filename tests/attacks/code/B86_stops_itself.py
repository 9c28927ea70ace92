"""Stops itself by SIGSTOP and so cannot say where it stands.

lint: REFUSED
wall: TIMEOUT
defends: P8
says: rank 0 did not say where it is
"""

import os
import signal


def _hole(grad_output, ctx):
    os.kill(os.getpid(), signal.SIGSTOP)
    return _right(grad_output, ctx)
