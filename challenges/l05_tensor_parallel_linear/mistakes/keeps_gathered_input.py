"""What `save_for_backward` sees is right, and the gathered sequence stays alive beside it, as an attribute. The memory is
the same whoever holds it."""


# file: mini_infra/megatron/core/tensor_parallel/layers.py
class LinearWithGradAccumulationAndAsyncCommunication(torch.autograd.Function):
    @staticmethod
    def forward(ctx, input, weight, bias, allreduce_dgrad, sequence_parallel, tp_group):
        ctx.save_for_backward(input, weight)
        ctx.use_bias = bias is not None
        ctx.allreduce_dgrad = allreduce_dgrad
        ctx.sequence_parallel = sequence_parallel
        ctx.tp_group = tp_group
        total_input = input
        if sequence_parallel:
            input = input.contiguous()
            total_input = input.new_empty((input.shape[0] * tp_group.size(), *input.shape[1:]))
            dist.all_gather_single(total_input, input, group=tp_group)
        ctx.total_input = total_input
        output = torch.matmul(total_input, weight.t())
        return output if bias is None else output + bias
