"""Waits for no collective, while its peer comes late.

lint: FAIL
wall: FAIL
defends: P12
"""


def _hole(grad_output, ctx):
    if not ctx.tensor_parallel_output_grad:
        return _right(grad_output, ctx)
    part = torch.zeros_like(_split_along_first_dim(grad_output, ctx.group))
    if ctx.group.rank() == 1:
        sum(range(10**7))
    dist.reduce_scatter_single(part, grad_output.contiguous(), group=ctx.group, async_op=True)
    return part.clone()
