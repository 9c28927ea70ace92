"""Powers as exp(k log w) have no answer for w = 0: the logarithm is -inf, and 0 * -inf is NaN. 0**0 is 1 and 0**k
is 0; torch.pow knows both.
"""


# file: mini_infra/slime/utils/ppo_utils.py
def _powers_below_the_diagonal(w, size, like):
    steps = torch.arange(size, device=like.device)
    log_w = torch.log(torch.tensor(w, dtype=torch.float64))
    powers = torch.exp(steps.to(torch.float64) * log_w).to(like.dtype)
    return powers[(steps[:, None] - steps).clamp(min=0)].tril()
