"""For a transposed input you save a contiguous copy, and the caller's tensor lives on too: the memory of one activation, twice.
Save what came in; backward can copy it when it needs to."""


# file: mini_infra/megatron/core/tensor_parallel/layers.py
class LinearWithGradAccumulationAndAsyncCommunication(torch.autograd.Function):
    @staticmethod
    def forward(ctx, input, weight, bias, allreduce_dgrad, sequence_parallel, tp_group):
        input = input.contiguous()
        ctx.save_for_backward(input, weight)
        ctx.use_bias = bias is not None
        ctx.allreduce_dgrad = allreduce_dgrad
        ctx.sequence_parallel = sequence_parallel
        ctx.tp_group = tp_group
        total_input = input
        if sequence_parallel:
            total_input = input.new_empty((input.shape[0] * tp_group.size(), *input.shape[1:]))
            dist.all_gather_single(total_input, input, group=tp_group)
        output = torch.matmul(total_input, weight.t())
        return output if bias is None else output + bias
