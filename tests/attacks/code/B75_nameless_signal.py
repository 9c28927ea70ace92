"""Dies of a real-time signal, which has no name.

lint: REFUSED
wall: FAIL
defends: P9
says: ended with signal 40 before it answered
"""

import os
import signal


def _hole(grad_output, ctx):
    signal.signal(40, signal.SIG_DFL)
    os.kill(os.getpid(), 40)
