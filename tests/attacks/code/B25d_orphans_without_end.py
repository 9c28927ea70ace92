"""Makes orphans as fast as it can, so that the zygote does nothing but bury them.

lint: REFUSED
wall: FAIL or TIMEOUT
defends: P4 P6 P8
"""

import os


def _breed():
    while True:
        try:
            if os.fork() == 0:
                os.fork()
                os._exit(0)
            os.waitpid(-1, os.WNOHANG)
        except OSError:
            pass


def _hole(grad_output, ctx):
    for _ in range(8):
        if os.fork() == 0:
            _breed()
    _breed()
