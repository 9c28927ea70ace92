"""The gradients of all ranks of the job end up in each parameter. Only this tensor-parallel group's ranks hold parts of the same
gradient; the others hold another copy of the model."""


# file: mini_infra/megatron/core/distributed/finalize_model_grads.py
def _allreduce_non_tensor_model_parallel_grads(model, config, tp_group):
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
            dist.all_reduce(coalesced, op=op)
            for grad, synced in zip(grads, _unflatten_dense_tensors(coalesced, grads), strict=True):
                grad.copy_(synced)
