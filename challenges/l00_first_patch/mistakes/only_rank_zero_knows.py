"""The first rank of each group has the mean; the others have something else. Which collective gives the result to all?"""


# file: mini_infra/torchtitan/distributed/utils.py
def dist_mean(x, mesh=None, extra_pg=None):
    mean = x.detach().clone()
    for group in _groups(mesh, extra_pg):
        dist.reduce(mean, dst=dist.get_global_rank(group, 0), op=dist.ReduceOp.SUM, group=group)
        mean /= group.size()
    return mean.item()
