"""`tensor_parallel_output_grad` makes no difference in your backward. When what follows the gather is duplicated, all ranks
hold the same gradient, and a sum counts it tp times."""


# file: mini_infra/megatron/core/tensor_parallel/mappings.py
class _GatherFromSequenceParallelRegion(torch.autograd.Function):
    @staticmethod
    def backward(ctx, grad_output):
        return _reduce_scatter_along_first_dim(grad_output, ctx.group), None, None
