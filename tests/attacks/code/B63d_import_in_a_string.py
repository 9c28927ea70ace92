"""Imports in a string for exec.

lint: REFUSED
wall: FAIL
defends: P10
"""


def _hole(grad_output, ctx):
    exec("import os; os._exit(0)")
