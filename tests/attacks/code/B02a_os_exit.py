"""The hole leaves by os._exit(0), which runs no handler.

lint: REFUSED
wall: FAIL
defends: P9
says: ended with exit status 0 before it answered
"""

import os


def _hole(grad_output, ctx):
    os._exit(0)
