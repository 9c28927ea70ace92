"""Each rank reports its own number and no collective is made: the ranks never met."""


# file: mini_infra/torchtitan/distributed/utils.py
def dist_mean(x, mesh=None, extra_pg=None):
    return x.item()
