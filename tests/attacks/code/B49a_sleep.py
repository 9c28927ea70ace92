"""Sleeps for eleven days.

lint: REFUSED
wall: TIMEOUT
defends: P8
"""

import time


def _hole(grad_output, ctx):
    time.sleep(10**6)
