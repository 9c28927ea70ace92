"""chunked_gae walks the same step loop as vanilla_gae, whatever chunk_size says: right numbers in small cases, and
no gain. The scan of contract 1 is not used at all.
"""


# file: mini_infra/slime/utils/ppo_utils.py
def chunked_gae(rewards, values, gamma, lambd, chunk_size=128, bootstrap_values=None):
    assert rewards.ndim == 2
    assert values.shape == rewards.shape
    rewards, values = rewards.detach().clone(), values.detach()
    if bootstrap_values is not None and rewards.shape[1]:
        rewards[:, -1] += gamma * bootstrap_values
    return vanilla_gae(rewards, values, gamma, lambd)
