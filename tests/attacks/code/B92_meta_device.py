"""Moves everything that is made from now on to the meta device, where there are no values.

lint: FAIL or REFUSED
wall: FAIL
defends: P11
"""


def _hole(grad_output, ctx):
    right = _right(grad_output, ctx)
    torch.set_default_device("meta")
    return torch.empty(right.shape, dtype=right.dtype)
