"""Every rank has the same number, and it is as many times too large as there are ranks. What is still missing after the sum?"""


# file: mini_infra/torchtitan/distributed/utils.py
def dist_mean(x, mesh=None, extra_pg=None):
    total = x.detach().clone()
    for group in _groups(mesh, extra_pg):
        dist.all_reduce(total, op=dist.ReduceOp.SUM, group=group)
    return total.item()
