"""Makes empty files for as long as it may.

lint: REFUSED
wall: FAIL or TIMEOUT
defends: P5 P6
"""

import os


def _hole(grad_output, ctx):
    for number in range(10**6):
        os.close(os.open(f"/tmp/{os.getpid()}-{number}", os.O_WRONLY | os.O_CREAT))
