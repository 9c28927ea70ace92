"""With one group of all ranks the mean is right; over one dimension of a 2 × 2 mesh it is half of what it should be. Whom
do you divide by?"""


# file: mini_infra/torchtitan/distributed/utils.py
def dist_mean(x, mesh=None, extra_pg=None):
    total = x.detach().clone()
    for group in _groups(mesh, extra_pg):
        dist.all_reduce(total, op=dist.ReduceOp.SUM, group=group)
        total /= dist.get_world_size()
    return total.item()
