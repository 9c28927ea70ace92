"""The mean over a mesh by the patch and by TorchTitan, many cases in one world."""

import probes


def patch(cases, rank_values):
    return [probes.reduced("mean", x, **one)["out"] for one, x in zip(cases, rank_values, strict=True)]


def upstream(cases, rank_values):
    from torchtitan.distributed import utils

    return [_mean(utils.dist_mean, x, **one) for one, x in zip(cases, rank_values, strict=True)]


def _mean(dist_mean, x, shape, over=None, extra=None):
    mesh = probes.mesh_of(shape)
    part = mesh if len(shape) == 1 else None if over is None else mesh[over]
    return dist_mean(x, part, None if extra is None else mesh[extra].get_group())
