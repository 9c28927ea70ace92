"""Reads address 0 while it is imported.

lint: REFUSED
wall: FAIL
defends: P6 P9
says: SIGSEGV
"""

import ctypes

ctypes.string_at(0)
