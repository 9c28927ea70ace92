"""Computes for ever.

lint: TIMEOUT
wall: TIMEOUT
defends: P8
says: timeout@_hole
"""


def _hole(grad_output, ctx):
    while True:
        pass
