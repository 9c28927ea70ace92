"""Every rank has the same number, one of the losses themselves: the largest. `dist_max` is the model for the loop, not for
the operation."""


# file: mini_infra/torchtitan/distributed/utils.py
def dist_mean(x, mesh=None, extra_pg=None):
    largest = x.detach().clone()
    for group in _groups(mesh, extra_pg):
        dist.all_reduce(largest, op=dist.ReduceOp.MAX, group=group)
    return largest.item()
