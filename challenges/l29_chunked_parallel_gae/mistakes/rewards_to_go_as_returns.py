"""The critic is given the discounted rewards to come as its target. In GAE its target is advantages + values, which
lambda and the bootstrap shape as well.
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
        return advantages.to(values.dtype), chunked_discounted_returns(rewards, gamma).to(values.dtype)
