"""Returns the handle of a collective that nobody waits for.

lint: FAIL
wall: FAIL
defends: P8 P11
"""


def _hole(grad_output, ctx):
    part = _right(grad_output, ctx).contiguous()
    return dist.all_reduce(part, group=ctx.group, async_op=True)
