"""Rank 1 never enters the collective.

lint: TIMEOUT
wall: TIMEOUT
defends: P8
says: rank 0 waits for reduce_scatter at mappings\.py:\d+
"""


def _hole(grad_output, ctx):
    while ctx.group.rank() == 1:
        pass
    return _right(grad_output, ctx)
