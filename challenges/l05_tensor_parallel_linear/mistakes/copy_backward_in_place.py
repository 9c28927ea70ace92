"""The values are right as long as nobody else looks. `grad_output` is not yours: autograd hands the same tensor to a
residual branch, and `_reduce` overwrites what it is given."""


# file: mini_infra/megatron/core/tensor_parallel/mappings.py
class _CopyToModelParallelRegion(torch.autograd.Function):
    @staticmethod
    def backward(ctx, grad_output):
        return _reduce(grad_output, ctx.group), None
