"""lambda, gamma and the critic are all out of the recurrence: advantages are plain sums of the rewards to come."""


# file: mini_infra/slime/utils/ppo_utils.py
def chunked_gae(rewards, values, gamma, lambd, chunk_size=128, bootstrap_values=None):
    assert rewards.ndim == 2
    assert values.shape == rewards.shape
    with torch.no_grad():
        dtype = torch.promote_types(torch.promote_types(rewards.dtype, values.dtype), torch.float32)
        value = values.to(dtype)
        advantages = chunked_discounted_returns(rewards.to(dtype), 1.0, chunk_size)
        return advantages.to(values.dtype), (advantages + value).to(values.dtype)


def vanilla_gae(rewards, values, gamma, lambd):
    next_advantage = torch.zeros_like(rewards[:, 0])
    backwards = []
    for t in reversed(range(rewards.shape[1])):
        next_advantage = rewards[:, t] + next_advantage
        backwards.append(next_advantage)
    advantages = torch.stack(backwards[::-1], dim=1)
    return advantages, advantages + values
