"""Runs a regular expression that backtracks for ever, in C and with the interpreter's lock held.

lint: TIMEOUT
wall: TIMEOUT
defends: P8
says: no answer within
"""

import re


def _hole(grad_output, ctx):
    re.fullmatch(r"(a+)+b", "a" * 64)
