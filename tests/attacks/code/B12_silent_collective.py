"""Replaces a collective by a no-op that is recorded all the same.

lint: FAIL or REFUSED
wall: FAIL
defends: P12
"""


def _post(output, input, op=None, group=None, async_op=False):
    output.copy_(input[: output.shape[0]])


dist.reduce_scatter_single = _post


def _hole(grad_output, ctx):
    return _right(grad_output, ctx)
