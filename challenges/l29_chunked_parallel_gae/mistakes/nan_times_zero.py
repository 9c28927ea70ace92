"""Masked entries are multiplied by 0, and 0 * NaN is NaN: garbage in the padding reaches valid tokens. Select, with
torch.where or by index; do not multiply.
"""


# file: mini_infra/verl/trainer/ppo/core_algos.py
def _packed_deltas(reward, value, valid, rank, gamma, after):
    width = value.shape[1]
    length = valid.sum(dim=1, keepdim=True)
    packed = [torch.zeros_like(F.pad(x, (0, 1))).scatter_add(1, rank, x * valid) for x in (reward, value)]
    ahead = packed[1].scatter(1, length, after[:, None])[:, 1:]
    deltas = packed[0][:, :-1] + gamma * ahead - packed[1][:, :-1]
    return deltas * (torch.arange(width, device=value.device) < length)
