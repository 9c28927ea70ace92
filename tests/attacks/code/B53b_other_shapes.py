"""The ranks pass tensors of other shapes and dtypes into one collective.

lint: FAIL or TIMEOUT
wall: FAIL or TIMEOUT
defends: P8 P12
"""


def _hole(grad_output, ctx):
    mine = grad_output.clone() if ctx.group.rank() == 0 else torch.ones(7, dtype=torch.float32)
    dist.all_reduce(mine, group=ctx.group)
    return torch.zeros_like(_split_along_first_dim(grad_output, ctx.group))
