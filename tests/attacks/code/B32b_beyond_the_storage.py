"""A view beyond the storage of its tensor.

lint: FAIL
wall: FAIL
defends: P9
"""


def _hole(grad_output, ctx):
    return torch.as_strided(grad_output, (1 << 20,), (1 << 20,))
