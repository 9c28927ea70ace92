"""Reads address 0.

lint: REFUSED
wall: FAIL
defends: P9
says: SIGSEGV
"""

import ctypes


def _hole(grad_output, ctx):
    ctypes.string_at(0)
