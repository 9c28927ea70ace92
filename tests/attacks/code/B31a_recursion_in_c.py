"""Recurses through C until the stack is used up.

lint: REFUSED
wall: FAIL
defends: P9
says: SIGSEGV
"""

import sys


def _down(x):
    return max([x], key=_down)


def _hole(grad_output, ctx):
    sys.setrecursionlimit(10**9)
    return _down(grad_output)
