"""The value is right and the type is not: a log line, JSON and a comparison want a Python number."""


# file: mini_infra/torchtitan/distributed/utils.py
def dist_mean(x, mesh=None, extra_pg=None):
    mean = x.detach().clone()
    for group in _groups(mesh, extra_pg):
        dist.all_reduce(mean, op=dist.ReduceOp.SUM, group=group)
        mean /= group.size()
    return mean
