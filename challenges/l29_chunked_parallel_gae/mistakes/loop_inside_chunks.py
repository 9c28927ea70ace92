"""Cutting a loop into pieces keeps it a loop: there is still an operation for each time step. What happens inside a
chunk can be one matrix product for all chunks at once.
"""


# file: mini_infra/slime/utils/ppo_utils.py
def chunked_discounted_returns(rewards, discount, chunk_size=128):
    assert rewards.ndim == 2
    if chunk_size < 1:
        raise ValueError(f"chunk_size must be at least 1, got {chunk_size}")
    with torch.no_grad():
        exact = rewards.to(torch.promote_types(rewards.dtype, torch.float32))
        result, ahead = exact.new_empty(exact.shape), exact.new_zeros(len(exact))
        for start in reversed(range(0, exact.shape[1], chunk_size)):
            for t in reversed(range(start, min(start + chunk_size, exact.shape[1]))):
                ahead = exact[:, t] + discount * ahead
                result[:, t] = ahead
        return result.to(rewards.dtype)
