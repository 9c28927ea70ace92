"""Rows that are no multiple of the chunk lose their tail: positions behind the last whole chunk stay 0, and all
others miss what lies there.
"""


# file: mini_infra/slime/utils/ppo_utils.py
def chunked_discounted_returns(rewards, discount, chunk_size=128):
    assert rewards.ndim == 2
    if chunk_size < 1:
        raise ValueError(f"chunk_size must be at least 1, got {chunk_size}")
    with torch.no_grad():
        exact = rewards.to(torch.promote_types(rewards.dtype, torch.float32))
        whole = exact.shape[1] - exact.shape[1] % chunk_size
        scanned = torch.zeros_like(exact)
        if whole:
            scanned[:, :whole] = _scan_from_the_right(exact[:, :whole], discount, chunk_size)
        return scanned.to(rewards.dtype)
