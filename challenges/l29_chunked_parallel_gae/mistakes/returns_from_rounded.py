"""Advantages are rounded to bf16 or fp16 first, and returns are taken from the rounded ones: rounded twice. Keep
the fp32 result until both are done.
"""


# file: mini_infra/slime/utils/ppo_utils.py
def chunked_gae(rewards, values, gamma, lambd, chunk_size=128, bootstrap_values=None):
    assert rewards.ndim == 2
    assert values.shape == rewards.shape
    with torch.no_grad():
        dtype = torch.promote_types(torch.promote_types(rewards.dtype, values.dtype), torch.float32)
        value = values.to(dtype)
        after = value.new_zeros(len(value)) if bootstrap_values is None else bootstrap_values.to(dtype)
        next_value = torch.cat([value, after[:, None]], dim=1)[:, 1:]
        deltas = rewards.to(dtype) + gamma * next_value - value
        advantages = chunked_discounted_returns(deltas, gamma * lambd, chunk_size)
        advantages = advantages.to(values.dtype)
        return advantages, advantages + values


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
        advantages = _discounted_sums(deltas, gamma * lam).gather(1, rank)
        advantages = advantages.to(values.dtype)
        returns = advantages + values
        return verl_F.masked_whiten(advantages, valid).to(values.dtype), returns
