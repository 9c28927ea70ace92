"""Probes of l00: what the ranks do, and what this machine's ranks are made of."""

import torch
import torch.distributed as dist
from torch.distributed.device_mesh import init_device_mesh

from mini_infra.torchtitan.distributed import utils

_meshes = {}


def mesh_of(shape):
    """The mesh over all ranks, made once a world, by all ranks together."""
    if str(shape) not in _meshes:
        _meshes[str(shape)] = init_device_mesh("cpu", tuple(shape), mesh_dim_names=("dp", "tp")[: len(shape)])
    return _meshes[str(shape)]


def reduced(op, x, shape, over=None, extra=None, grad=False):
    """`dist_max` or `dist_mean` over dimension `over` of the mesh, and over dimension `extra` first."""
    mesh = mesh_of(shape)
    part = mesh if len(shape) == 1 else None if over is None else mesh[over]
    group = None if extra is None else mesh[extra].get_group()
    x.requires_grad_(grad)
    out = getattr(utils, f"dist_{op}")(x, part, group)
    return {"out": out, "type": type(out).__name__, "x": x}


def alone(x):
    out = utils.dist_mean(x)
    return {"out": out, "type": type(out).__name__}


def machine():
    """The versions that this rank runs on, and the sum of all ranks' 1s."""
    ones = torch.ones(1)
    dist.all_reduce(ones)
    return {"torch": torch.__version__.partition("+")[0], "backend": dist.get_backend(), "ranks": ones}
