"""Fills shared mappings, which the limit on data does not count.

lint: REFUSED
wall: FAIL
defends: P6
says: over 640 MB|Cannot allocate
"""

import mmap


def _hole(grad_output, ctx):
    held = []
    while True:
        held.append(mmap.mmap(-1, 64 << 20))
        held[-1].write(b"x" * (64 << 20))
