"""Ignores each signal and never answers.

lint: REFUSED
wall: TIMEOUT
defends: P8
"""

import contextlib
import signal


def _hole(grad_output, ctx):
    for number in range(1, 65):
        with contextlib.suppress(OSError, ValueError):
            signal.signal(number, signal.SIG_IGN)
    while True:
        signal.pthread_sigmask(signal.SIG_BLOCK, range(1, 65))
