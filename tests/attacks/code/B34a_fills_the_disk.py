"""Fills each writable folder, and a file with a hole of a terabyte.

lint: REFUSED
wall: FAIL
defends: P5 P6
says: OSError
"""

import os


def _hole(grad_output, ctx):
    problems = []
    for place in ("/tmp", "/dev/shm", "."):
        for write in (lambda file: os.write(file, bytes(1 << 20)), lambda file: os.truncate(file, 1 << 40)):
            try:
                write(os.open(f"{place}/x", os.O_RDWR | os.O_CREAT))
            except OSError as error:
                problems.append(error)
    raise problems[0] if len(problems) == 6 else AssertionError(f"LEAK {problems}")
