"""Over one dimension of a mesh all four ranks report the same number, although there are two groups. Which ranks did
`all_reduce` ask when nobody told it the group?"""


# file: mini_infra/torchtitan/distributed/utils.py
def dist_mean(x, mesh=None, extra_pg=None):
    mean = x.detach().clone()
    for _ in _groups(mesh, extra_pg):
        dist.all_reduce(mean, op=dist.ReduceOp.SUM)
        mean /= dist.get_world_size()
    return mean.item()
