"""Each rank's slice came out of one replicated tensor, and all of that tensor's columns have a gradient: the other ranks'
columns too. Yours are zero there."""


# file: mini_infra/megatron/core/tensor_parallel/mappings.py
class _ScatterToModelParallelRegion(torch.autograd.Function):
    @staticmethod
    def backward(ctx, grad_output):
        size = grad_output.shape[-1]
        whole = grad_output.new_zeros((*grad_output.shape[:-1], size * ctx.group.size()))
        whole[..., ctx.group.rank() * size : (ctx.group.rank() + 1) * size] = grad_output
        return whole, None
