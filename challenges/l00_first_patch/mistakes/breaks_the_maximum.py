"""Your mean is right, but `dist_max`, which was given, is not any more: it is reduced with the wrong operation."""


# file: mini_infra/torchtitan/distributed/utils.py
def dist_max(x, mesh=None, extra_pg=None):
    largest = x.detach().clone()
    for group in _groups(mesh, extra_pg):
        dist.all_reduce(largest, op=dist.ReduceOp.SUM, group=group)
    return largest.item()
