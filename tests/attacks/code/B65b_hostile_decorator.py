"""A decorator replaces the right function by a wrong one at import.

lint: FAIL
wall: FAIL
defends: P10 P1
"""


def _swapped(function):
    return lambda grad_output, ctx: 0 * function(grad_output, ctx)


@_swapped
def _hole(grad_output, ctx):
    return _right(grad_output, ctx)
