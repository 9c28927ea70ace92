"""Only rank 0's answer is right.

lint: FAIL
wall: FAIL
defends: P11
"""


def _hole(grad_output, ctx):
    right = _right(grad_output, ctx)
    return right if ctx.group.rank() == 0 else right + 1
