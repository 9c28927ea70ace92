"""The numbers are right, and every call makes one collective too many: the size of a group is known without asking."""


# file: mini_infra/torchtitan/distributed/utils.py
def dist_mean(x, mesh=None, extra_pg=None):
    mean = x.detach().clone()
    for group in _groups(mesh, extra_pg):
        count = torch.ones_like(mean)
        dist.all_reduce(count, op=dist.ReduceOp.SUM, group=group)
        dist.all_reduce(mean, op=dist.ReduceOp.SUM, group=group)
        mean /= count
    return mean.item()
