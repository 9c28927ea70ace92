"""Changes its own module through globals().

lint: REFUSED
wall: FAIL
defends: P10
"""

globals()["_right"] = lambda grad_output, ctx: torch.zeros_like(_split_along_first_dim(grad_output, ctx.group))


def _hole(grad_output, ctx):
    return _right(grad_output, ctx)
