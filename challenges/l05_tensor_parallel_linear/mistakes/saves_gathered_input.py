"""The result is right, but each rank keeps the whole sequence alive until backward. Sequence parallelism exists to avoid
exactly that: keep the shard, and gather again."""


# file: mini_infra/megatron/core/tensor_parallel/layers.py
class LinearWithGradAccumulationAndAsyncCommunication(torch.autograd.Function):
    @staticmethod
    def forward(ctx, input, weight, bias, allreduce_dgrad, sequence_parallel, tp_group):
        ctx.use_bias = bias is not None
        ctx.allreduce_dgrad = allreduce_dgrad
        ctx.sequence_parallel = sequence_parallel
        ctx.tp_group = tp_group
        total_input = input
        if sequence_parallel:
            input = input.contiguous()
            total_input = input.new_empty((input.shape[0] * tp_group.size(), *input.shape[1:]))
            dist.all_gather_single(total_input, input, group=tp_group)
        ctx.save_for_backward(total_input, weight)
        output = torch.matmul(total_input, weight.t())
        return output if bias is None else output + bias

    @staticmethod
    def backward(ctx, grad_output):
        input, weight = ctx.saved_tensors
        tp_group = ctx.tp_group
        wgrad_compute = ctx.needs_input_grad[1]
        handle = None
        total_input = input
        grad_input = grad_output.matmul(weight)
        if handle is not None:
            handle.wait()
        if ctx.allreduce_dgrad:
            handle = dist.all_reduce(grad_input, group=tp_group, async_op=True)
        elif ctx.sequence_parallel:
            share, grad_input = grad_input, torch.empty_like(input.chunk(tp_group.size())[0])
            handle = dist.reduce_scatter_single(grad_input, share, group=tp_group, async_op=True)
        grad_weight = None
        if wgrad_compute:
            grad_2d, input_2d = prepare_input_tensors_for_wgrad_compute(grad_output, total_input)
            grad_weight = grad_2d.t().matmul(input_2d)
        grad_bias = grad_output.reshape(-1, grad_output.shape[-1]).sum(dim=0) if ctx.use_bias else None
        if handle is not None:
            handle.wait()
        return grad_input, grad_weight, grad_bias, None, None, None
