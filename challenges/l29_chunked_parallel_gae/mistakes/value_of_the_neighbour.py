"""The token before a gap looks at the value of a tool's token. Its next state is the next token of its own: v_next
is the value at next(t).
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
        last = valid & (rank == valid.sum(dim=1, keepdim=True) - 1)
        ahead = torch.where(last, after[:, None], torch.cat([value, after[:, None]], dim=1)[:, 1:])
        zeros = torch.zeros_like(value)
        deltas = _packed_deltas(reward + gamma * ahead - value, zeros, valid, rank, gamma, zeros[:, 0])
        advantages = _discounted_sums(deltas, gamma * lam).gather(1, rank)
        returns = (advantages + value).to(values.dtype)
        return verl_F.masked_whiten(advantages, valid).to(values.dtype), returns
