"""Nests folders deeper than the interpreter's stack, and than a path may be long, for the sweep to fall over.

lint: REFUSED
wall: PASS
defends: P4 P5
"""

import os


def _nest():
    for _ in range(3000):
        os.mkdir("d")
        os.chdir("d")


def _hole(grad_output, ctx):
    if ctx.group.rank() == 0 and not os.getcwd().startswith("/tmp/d"):
        os.chdir("/tmp")
        _nest()
    return _right(grad_output, ctx)
