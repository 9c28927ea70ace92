"""Destroys the group and makes one of its own, in which each rank is alone.

lint: FAIL or REFUSED
wall: FAIL
defends: P12
"""


def _hole(grad_output, ctx):
    dist.destroy_process_group()
    dist.init_process_group("gloo", store=dist.HashStore(), rank=0, world_size=1)
    ctx.group = dist.group.WORLD
    return _right(grad_output, ctx)
