"""Masked entries are multiplied by 0, and 0 * NaN is NaN: garbage in the padding reaches valid tokens. Select, with
torch.where or by index; do not multiply.
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
        advantages = _discounted_sums(deltas, gamma * lam).gather(1, rank)
        returns = (advantages + value).to(values.dtype)
        return verl_F.masked_whiten(advantages, valid).to(values.dtype), returns


def _packed_deltas(reward, value, valid, rank, gamma, after):
    width = value.shape[1]
    length = valid.sum(dim=1, keepdim=True)
    packed = [torch.zeros_like(F.pad(x, (0, 1))).scatter_add(1, rank, x * valid) for x in (reward, value)]
    ahead = packed[1].scatter(1, length, after[:, None])[:, 1:]
    deltas = packed[0][:, :-1] + gamma * ahead - packed[1][:, :-1]
    return deltas * (torch.arange(width, device=value.device) < length)
