"""Asks for eight terabytes.

lint: FAIL
wall: FAIL
defends: P6
says: allocate
"""


def _hole(grad_output, ctx):
    return torch.empty(10**12, dtype=torch.float64)
