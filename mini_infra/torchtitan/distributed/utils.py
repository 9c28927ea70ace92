"""Numbers that a training loop logs, reduced over the ranks of a mesh.

Every rank has a loss of its own; what stands in the log has to be one number, the same on all of them. Source:
torchtitan/distributed/utils.py of torchtitan 0.3.0.
"""

import torch
import torch.distributed as dist
from torch.distributed import ProcessGroup
from torch.distributed.device_mesh import DeviceMesh


def _groups(mesh: DeviceMesh | None, extra_pg: ProcessGroup | None) -> list[ProcessGroup]:
    """The groups to reduce over, in order: `extra_pg`, then the one-dimensional `mesh`'s; those that are given."""
    groups = [] if extra_pg is None else [extra_pg]
    return groups if mesh is None else [*groups, mesh.get_group()]


def dist_max(x: torch.Tensor, mesh: DeviceMesh | None = None, extra_pg: ProcessGroup | None = None) -> float:
    """The largest of the ranks' `x` (one element), the same on all of them. `x` is left alone."""
    largest = x.detach().clone()  # all_reduce writes into its argument
    for group in _groups(mesh, extra_pg):
        dist.all_reduce(largest, op=dist.ReduceOp.MAX, group=group)
    return largest.item()


def dist_mean(x: torch.Tensor, mesh: DeviceMesh | None = None, extra_pg: ProcessGroup | None = None) -> float:
    """The mean of the ranks' `x` (one element of a floating dtype), a Python float, the same on all of them.

    Over `extra_pg` first, where it is given, then over the one-dimensional `mesh`, where it is given: one all_reduce of
    one element a group, none for a group that is not given. `x` is left alone.
    """
    mean = x.detach().clone()
    for group in _groups(mesh, extra_pg):
        dist.all_reduce(mean, op=dist.ReduceOp.SUM, group=group)
        mean /= group.size()
    return mean.item()
