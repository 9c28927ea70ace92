"""Every rank returns a slice of the gradient, and some return another rank's. A rank's place in its group is not its number in
the job, nor what is left of that number after a division."""


# file: mini_infra/megatron/core/tensor_parallel/mappings.py
class _GatherFromSequenceParallelRegion(torch.autograd.Function):
    @staticmethod
    def backward(ctx, grad_output):
        if ctx.tensor_parallel_output_grad:
            return _reduce_scatter_along_first_dim(grad_output, ctx.group), None, None
        place = dist.get_rank() % ctx.group.size()
        return grad_output.chunk(ctx.group.size())[place].contiguous(), None, None
