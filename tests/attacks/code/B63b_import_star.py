"""Imports everything of os.

lint: REFUSED
wall: FAIL
defends: P10
"""

from os import *


def _hole(grad_output, ctx):
    abort()
