"""Probes of l05: what the ranks do. They build layers from what the judge sent, run them, and return what came out."""

import torch
import torch.distributed as dist

from mini_infra.megatron.core.tensor_parallel import mappings

REGIONS = {
    "copy": mappings.copy_to_tensor_model_parallel_region,
    "reduce": mappings.reduce_from_tensor_model_parallel_region,
    "scatter": mappings.scatter_to_tensor_model_parallel_region,
    "gather": mappings.gather_from_tensor_model_parallel_region,
    "seq_gather": mappings.gather_from_sequence_parallel_region,
    "seq_reduce_scatter": mappings.reduce_scatter_to_sequence_parallel_region,
}
_groups = {}


def tp_group(groups):
    """This rank's process group of `groups` (lists of global ranks); made once a world, by all ranks together."""
    key = str(groups)
    if key not in _groups:
        made = [dist.new_group(ranks) for ranks in groups]
        _groups[key] = next(g for g, ranks in zip(made, groups, strict=True) if dist.get_rank() in ranks)
    return _groups[key]


def region(name, groups, x, y, flags=None):
    """One border: F x and, for the upstream gradient y, its adjoint F^T y."""
    x = x.requires_grad_()
    fx = REGIONS[name](x, tp_group(groups), **(flags or {}))
    (fty,) = torch.autograd.grad(fx, x, y)
    return {"Fx": fx, "Fty": fty}
