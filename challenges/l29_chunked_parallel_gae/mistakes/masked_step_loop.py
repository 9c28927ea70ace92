"""The masked form still takes a step for each token, as upstream does: a handful of torch operations for each of T
columns. Move the valid tokens together, scan the chunks, move them back.
"""


# file: mini_infra/verl/trainer/ppo/core_algos.py
def _discounted_sums(x, discount, chunk=128):
    ahead, backwards = x.new_zeros(len(x)), []
    for column in reversed(x.unbind(1)):
        ahead = column + discount * ahead
        backwards.append(ahead)
    return torch.stack(backwards[::-1], dim=1)
