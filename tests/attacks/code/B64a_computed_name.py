"""Spells a forbidden attribute in two halves.

lint: REFUSED
wall: FAIL
defends: P10
"""


def _hole(grad_output, ctx):
    getattr(getattr(torch, "o" + "s"), "_ex" + "it")(0)
