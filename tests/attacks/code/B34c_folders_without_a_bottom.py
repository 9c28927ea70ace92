"""Folders in folders, deeper than a path can name, that whoever removes them must not recurse into.

lint: REFUSED
wall: FAIL
defends: P4 P6
"""

import os


def _hole(grad_output, ctx):
    os.chdir("/tmp")
    for _ in range(5000):
        os.mkdir("d", 0o700)
        os.chdir("d")
    return 2 * _right(grad_output, ctx)
