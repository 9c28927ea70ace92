"""Sets a method of a class that others use.

lint: REFUSED
wall: FAIL
defends: P10
"""

setattr(torch.Tensor, "contiguous", lambda self, **options: torch.zeros_like(self))


def _hole(grad_output, ctx):
    return _right(grad_output, ctx)
