"""Eight children, each below the limit of a process, together far above that of the jail.

lint: REFUSED
wall: FAIL
defends: P6
says: over 640 MB
"""

import os
import time


def _hole(grad_output, ctx):
    for _ in range(3):
        os.fork()
    held = bytearray(b"x") * (200 << 20)
    time.sleep(600)
    return held
