"""After a gather along the last dim all ranks hold the same gradient. You added tp equal copies of it before cutting."""


# file: mini_infra/megatron/core/tensor_parallel/mappings.py
class _GatherFromModelParallelRegion(torch.autograd.Function):
    @staticmethod
    def backward(ctx, grad_output):
        total = _reduce(grad_output.clone(), ctx.group)
        return _split_along_last_dim(total, ctx.group), None
