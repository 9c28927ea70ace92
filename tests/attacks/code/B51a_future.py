"""Returns a future that would have the answer one day.

lint: FAIL
wall: FAIL
defends: P8 P11
"""


def _hole(grad_output, ctx):
    later = torch.futures.Future()
    later.set_result(_right(grad_output, ctx))
    return later
