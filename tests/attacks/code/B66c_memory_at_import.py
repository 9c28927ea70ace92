"""Wants 64 GB while it is imported.

lint: FAIL
wall: FAIL
defends: P6
says: memory|allocate
"""

_much = torch.ones(1 << 34)
