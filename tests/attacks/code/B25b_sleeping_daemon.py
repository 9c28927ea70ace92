"""Leaves a daemon, forked twice and deaf to signals, that means to outlive the probe.

lint: REFUSED
wall: PASS
defends: P4 P8
"""

import os
import signal
import time


def _hole(grad_output, ctx):
    right = _right(grad_output, ctx)
    if os.fork() == 0:
        os.setsid()
        for number in (signal.SIGTERM, signal.SIGHUP, signal.SIGINT, signal.SIGUSR1):
            signal.signal(number, signal.SIG_IGN)
        if os.fork() == 0:
            time.sleep(600)
        os._exit(0)
    return right
