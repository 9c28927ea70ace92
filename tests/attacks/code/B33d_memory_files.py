"""Fills memory files, which no limit of a process counts.

lint: REFUSED
wall: FAIL
defends: P6
says: File too large
"""

import os


def _hole(grad_output, ctx):
    for _ in range(200):
        os.write(os.memfd_create("x"), bytes(32 << 20))
