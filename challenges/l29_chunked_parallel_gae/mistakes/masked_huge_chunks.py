"""The masked form cuts its rows into chunks of 4,096: almost all of the work goes into a triangle of 16 million
powers. A chunk is small on purpose; many of them share one product.
"""


# file: mini_infra/verl/trainer/ppo/core_algos.py
def compute_gae_advantage_return(token_level_rewards, values, response_mask, gamma, lam, bootstrap_values=None):
    assert token_level_rewards.ndim == 2
    assert values.shape == response_mask.shape == token_level_rewards.shape
    with torch.no_grad():
        dtype = torch.promote_types(torch.promote_types(token_level_rewards.dtype, values.dtype), torch.float32)
        reward, value, valid = token_level_rewards.to(dtype), values.to(dtype), response_mask.bool()
        after = value.new_zeros(len(value)) if bootstrap_values is None else bootstrap_values.to(dtype)
        rank = valid.cumsum(dim=1) - valid.long()
        deltas = _packed_deltas(reward, value, valid, rank, gamma, after)
        advantages = _discounted_sums(deltas, gamma * lam, chunk=4096).gather(1, rank)
        returns = (advantages + value).to(values.dtype)
        return verl_F.masked_whiten(advantages, valid).to(values.dtype), returns
