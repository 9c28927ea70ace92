"""Every rank's summand reached every part of the sequence, not only the part that this rank kept. Its gradient lies on all
ranks; yours has only the local part."""


# file: mini_infra/megatron/core/tensor_parallel/mappings.py
class _ReduceScatterToSequenceParallelRegion(torch.autograd.Function):
    @staticmethod
    def backward(ctx, grad_output):
        rows = grad_output.shape[0]
        whole = grad_output.new_zeros((rows * ctx.group.size(), *grad_output.shape[1:]))
        whole[ctx.group.rank() * rows : (ctx.group.rank() + 1) * rows] = grad_output
        return whole, None
