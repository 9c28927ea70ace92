"""The recurrence runs with the discount gamma alone. lambda is what trades the critic's bias against the variance
of the rewards; the discount of the advantages is gamma * lambda.
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
        advantages = chunked_discounted_returns(deltas, gamma, chunk_size)
        return advantages.to(values.dtype), (advantages + value).to(values.dtype)


def vanilla_gae(rewards, values, gamma, lambd):
    next_advantage = next_value = torch.zeros_like(rewards[:, 0])
    backwards = []
    for t in reversed(range(rewards.shape[1])):
        delta = rewards[:, t] + gamma * next_value - values[:, t]
        next_advantage = delta + gamma * next_advantage
        next_value = values[:, t]
        backwards.append(next_advantage)
    advantages = torch.stack(backwards[::-1], dim=1)
    return advantages, advantages + values
