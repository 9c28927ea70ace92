"""A chunk below 1 has to be refused by name before any arithmetic, which else ends in a message about shapes or a
modulo by zero.
"""


# file: mini_infra/slime/utils/ppo_utils.py
def chunked_discounted_returns(rewards, discount, chunk_size=128):
    assert rewards.ndim == 2
    with torch.no_grad():
        exact = rewards.to(torch.promote_types(rewards.dtype, torch.float32))
        return _scan_from_the_right(exact, discount, chunk_size).to(rewards.dtype)
