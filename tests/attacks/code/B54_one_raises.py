"""Rank 0 raises, and rank 1 waits for it for ever.

lint: FAIL
wall: FAIL
defends: P8
says: rank 0: ValueError: not today
"""


def _hole(grad_output, ctx):
    if ctx.group.rank() == 0:
        raise ValueError("not today")
    return _right(grad_output, ctx)
