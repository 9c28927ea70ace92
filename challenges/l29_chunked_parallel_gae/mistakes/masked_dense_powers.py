"""The masked form takes the whole row as one chunk: a T x T triangle of powers. It is one operation, and T times
too much work and memory.
"""


# file: mini_infra/verl/trainer/ppo/core_algos.py
def _discounted_sums(x, discount, chunk=128):
    steps = torch.arange(x.shape[1], device=x.device, dtype=x.dtype)
    return x @ (discount ** (steps[:, None] - steps).clamp_(min=0)).tril_()
