"""bootstrap_values changes nothing: truncated rows are still treated as finished, and the critic learns that long
answers end in nothing.
"""


# file: mini_infra/slime/utils/ppo_utils.py
def chunked_gae(rewards, values, gamma, lambd, chunk_size=128, bootstrap_values=None):
    assert rewards.ndim == 2
    assert values.shape == rewards.shape
    with torch.no_grad():
        dtype = torch.promote_types(torch.promote_types(rewards.dtype, values.dtype), torch.float32)
        value = values.to(dtype)
        after = value.new_zeros(len(value))
        next_value = torch.cat([value, after[:, None]], dim=1)[:, 1:]
        deltas = rewards.to(dtype) + gamma * next_value - value
        advantages = chunked_discounted_returns(deltas, gamma * lambd, chunk_size)
        return advantages.to(values.dtype), (advantages + value).to(values.dtype)


# file: mini_infra/verl/trainer/ppo/core_algos.py
def compute_gae_advantage_return(token_level_rewards, values, response_mask, gamma, lam, bootstrap_values=None):
    assert token_level_rewards.ndim == 2
    assert values.shape == response_mask.shape == token_level_rewards.shape
    with torch.no_grad():
        dtype = torch.promote_types(torch.promote_types(token_level_rewards.dtype, values.dtype), torch.float32)
        reward, value, valid = token_level_rewards.to(dtype), values.to(dtype), response_mask.bool()
        after = value.new_zeros(len(value))
        rank = valid.cumsum(dim=1) - valid.long()
        deltas = _packed_deltas(reward, value, valid, rank, gamma, after)
        advantages = _discounted_sums(deltas, gamma * lam).gather(1, rank)
        returns = (advantages + value).to(values.dtype)
        return verl_F.masked_whiten(advantages, valid).to(values.dtype), returns
