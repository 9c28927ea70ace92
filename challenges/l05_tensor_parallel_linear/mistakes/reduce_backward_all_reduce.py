"""Gradients are too big by exactly tp. The sum over ranks is one map from tp summands to one total; its adjoint hands
the total's gradient to each summand. It is not a sum again."""


# file: mini_infra/megatron/core/tensor_parallel/mappings.py
class _ReduceFromModelParallelRegion(torch.autograd.Function):
    @staticmethod
    def backward(ctx, grad_output):
        return _reduce(grad_output.clone(), ctx.group), None
