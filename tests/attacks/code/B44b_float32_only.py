"""Right in float32 only.

lint: FAIL
wall: FAIL
defends: P3
lab: l29
"""


def _hole(rewards, values, deltas, discount, chunk_size):
    advantages, returns = _right(rewards, values, deltas.float(), discount, chunk_size)
    return advantages.to(values.dtype), returns.to(values.dtype)
