"""The chunk is far larger than chunk_size asks for, so almost all of the work goes into the triangle of powers: O(T
C) operations, C x C numbers. A chunk is small on purpose; many of them share one product.
"""


# file: mini_infra/slime/utils/ppo_utils.py
def chunked_discounted_returns(rewards, discount, chunk_size=128):
    assert rewards.ndim == 2
    if chunk_size < 1:
        raise ValueError(f"chunk_size must be at least 1, got {chunk_size}")
    with torch.no_grad():
        exact = rewards.to(torch.promote_types(rewards.dtype, torch.float32))
        return _scan_from_the_right(exact, discount, max(chunk_size, 4096)).to(rewards.dtype)
