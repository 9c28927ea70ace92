"""The mean over the mesh is right and the extra group changes nothing. Which of the two arguments does nobody read?"""


# file: mini_infra/torchtitan/distributed/utils.py
def dist_mean(x, mesh=None, extra_pg=None):
    mean = x.detach().clone()
    if mesh is not None:
        dist.all_reduce(mean, op=dist.ReduceOp.SUM, group=mesh.get_group())
        mean /= mesh.size()
    return mean.item()
