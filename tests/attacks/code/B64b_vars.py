"""Finds os in the dictionary of a module.

lint: REFUSED
wall: FAIL
defends: P10
"""


def _hole(grad_output, ctx):
    vars(torch)["os"]._exit(0)
