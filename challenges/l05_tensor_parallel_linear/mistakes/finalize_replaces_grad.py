"""The parameter points to a new gradient, and whoever held the old tensor (the data-parallel buffer is one) still has the
unreduced one. Write into the tensor that is there."""


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
                grads_avg.append(param)
            elif config.sequence_parallel and getattr(param, "sequence_parallel", False):
                grads_sum.append(param)
    for params, op in ((grads_sum, dist.ReduceOp.SUM), (grads_avg, dist.ReduceOp.AVG)):
        if params:
            grads = [param.main_grad if hasattr(param, "main_grad") else param.grad for param in params]
            coalesced = _flatten_dense_tensors(grads)
            dist.all_reduce(coalesced, op=op, group=tp_group)
            for param, grad, synced in zip(params, grads, _unflatten_dense_tensors(coalesced, grads), strict=True):
                if hasattr(param, "main_grad"):
                    param.main_grad = synced.to(grad.dtype)
                else:
                    param.grad = synced.to(grad.dtype)
