"""The ranks post two collectives in opposite order.

lint: FAIL or TIMEOUT
wall: FAIL or TIMEOUT
defends: P8 P12
"""


def _hole(grad_output, ctx):
    summed, gathered = grad_output.clone(), grad_output.new_empty((2 * len(grad_output), *grad_output.shape[1:]))
    posts = [
        lambda: dist.all_reduce(summed, group=ctx.group),
        lambda: dist.all_gather_single(gathered, grad_output.contiguous(), group=ctx.group),
    ]
    for post in posts if ctx.group.rank() == 0 else posts[::-1]:
        post()
    return _split_along_first_dim(summed, ctx.group)
