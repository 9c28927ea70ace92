"""Empties its inputs, so that whoever computes from them afterwards finds zeros.

lint: FAIL
wall: FAIL
defends: P3 P4
lab: l29
"""


def _hole(rewards, values, deltas, discount, chunk_size):
    rewards.zero_(), values.zero_()
    return torch.zeros_like(values), torch.zeros_like(values)
