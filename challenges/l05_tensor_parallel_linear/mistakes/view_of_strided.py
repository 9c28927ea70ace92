"""Backward gets whatever strides autograd has: after sum(0) the gradient is one row, expanded over the sequence, and
`view` cannot flatten that."""


# file: mini_infra/megatron/core/tensor_parallel/layers.py
class LinearWithGradAccumulationAndAsyncCommunication(torch.autograd.Function):
    @staticmethod
    def backward(ctx, grad_output):
        input, weight = ctx.saved_tensors
        tp_group = ctx.tp_group
        wgrad_compute = ctx.needs_input_grad[1]
        handle = None
        total_input = input
        if ctx.sequence_parallel and wgrad_compute:
            input = input.contiguous()
            total_input = input.new_empty((input.shape[0] * tp_group.size(), *input.shape[1:]))
            handle = dist.all_gather_single(total_input, input, group=tp_group, async_op=True)
        grad_input = grad_output.matmul(weight)
        if handle is not None:
            handle.wait()
        if ctx.allreduce_dgrad:
            handle = dist.all_reduce(grad_input, group=tp_group, async_op=True)
        elif ctx.sequence_parallel:
            share, grad_input = grad_input, grad_input.new_empty(input.shape)
            handle = dist.reduce_scatter_single(grad_input, share, group=tp_group, async_op=True)
        grad_weight = None
        if wgrad_compute:
            grad_2d = grad_output.view(-1, grad_output.shape[-1])
            input_2d = total_input.reshape(-1, total_input.shape[-1])
            grad_weight = grad_2d.t().matmul(input_2d)
        grad_bias = grad_output.reshape(-1, grad_output.shape[-1]).sum(dim=0) if ctx.use_bias else None
        if handle is not None:
            handle.wait()
        return grad_input, grad_weight, grad_bias, None, None, None
