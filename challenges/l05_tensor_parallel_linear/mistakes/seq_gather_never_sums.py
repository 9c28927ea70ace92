"""`tensor_parallel_output_grad` makes no difference in your backward. When a tensor-parallel region follows the gather,
each rank holds only its own share of the gradient, and cutting without adding loses the others' shares."""


# file: mini_infra/megatron/core/tensor_parallel/mappings.py
class _GatherFromSequenceParallelRegion(torch.autograd.Function):
    @staticmethod
    def backward(ctx, grad_output):
        return _split_along_first_dim(grad_output, ctx.group), None, None
