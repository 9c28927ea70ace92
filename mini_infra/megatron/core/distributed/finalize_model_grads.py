"""Gradient reductions that no backward does, after the data-parallel one.

Autograd sees one rank. A parameter that every TP rank holds whole, but that saw only this rank's part of the sequence,
has a partial gradient that only the end of the step can complete. Source:
megatron/core/distributed/finalize_model_grads.py of megatron-core 0.19.2.
"""

import torch
import torch.distributed as dist
from torch._utils import _flatten_dense_tensors, _unflatten_dense_tensors
from torch.distributed import ProcessGroup

from mini_infra.megatron.core.model_parallel_config import ModelParallelConfig


def _allreduce_non_tensor_model_parallel_grads(
    model: list[torch.nn.Module], config: ModelParallelConfig, tp_group: ProcessGroup
) -> None:
    """Complete the gradients of the replicated parameters of all `model` chunks over `tp_group`, in place.

    Two kinds, by a mark on the parameter that is true; the first mark wins where both are:
    `average_gradients_across_tp_domain`: every rank computed the gradient of its own sample;
    `sequence_parallel`, when `config.sequence_parallel` is on too: every rank computed its part of one gradient.
    One coalesced all_reduce a kind, none for a kind without gradients, none in a group of one rank. Order of
    parameters: `named_parameters()` of each chunk. Parameters that are frozen, unmarked or without a gradient stay as
    they are. The gradient is the tensor in `main_grad`, where the parameter has one (`grad` is then usually None), else
    in `grad`; it keeps its storage, for others hold views of it, and its dtype. A call's buffer has the dtype to which
    torch promotes those of its gradients.
    """
    if tp_group.size() == 1:
        return
    grads_sum, grads_avg = [], []
    for chunk in model:
        for _, param in chunk.named_parameters():
            grad = param.main_grad if hasattr(param, "main_grad") else param.grad
            if not param.requires_grad or grad is None:
                continue
            if getattr(param, "average_gradients_across_tp_domain", False):
                grads_avg.append(grad)
            elif config.sequence_parallel and getattr(param, "sequence_parallel", False):
                grads_sum.append(grad)
    for grads, op in ((grads_sum, dist.ReduceOp.SUM), (grads_avg, dist.ReduceOp.AVG)):
        if grads:
            coalesced = _flatten_dense_tensors(grads)
            dist.all_reduce(coalesced, op=op, group=tp_group)
            for grad, synced in zip(grads, _unflatten_dense_tensors(coalesced, grads), strict=True):
                grad.copy_(synced)
