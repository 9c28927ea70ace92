"""The hole ends the process with exit status 0.

lint: REFUSED
wall: FAIL
defends: P9
says: SystemExit
"""

import sys


def _hole(grad_output, ctx):
    sys.exit(0)
