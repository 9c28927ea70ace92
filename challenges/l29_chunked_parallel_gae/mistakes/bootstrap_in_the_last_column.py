"""V(s_T) belongs behind the last valid token of its row. In column T it reaches full rows only, and truncated rows
with padding count as finished.
"""


# file: mini_infra/verl/trainer/ppo/core_algos.py
def _packed_deltas(reward, value, valid, rank, gamma, after):
    width = value.shape[1]
    slot = torch.where(valid, rank, width)
    reward, value = (x.new_zeros(len(x), width + 1).scatter(1, slot, x) for x in (reward, value))
    length = valid.sum(dim=1, keepdim=True)
    value.scatter_(1, length, 0.0)
    value[:, width] = after
    deltas = reward[:, :-1] + gamma * value[:, 1:] - value[:, :-1]
    return torch.where(torch.arange(width, device=value.device) < length, deltas, 0.0)
