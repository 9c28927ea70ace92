"""Each rank gathers the whole weight and computes the whole layer. The numbers are right; the memory, the traffic and the
work are those of no parallelism at all."""

# file: mini_infra/megatron/core/tensor_parallel/layers.py
from mini_infra.megatron.core.tensor_parallel.mappings import gather_from_sequence_parallel_region


class ColumnParallelLinear(torch.nn.Module):
    def forward(self, input_):
        tp, rank = self.tp_group.size(), self.tp_group.rank()
        if self.sequence_parallel:
            input_ = gather_from_sequence_parallel_region(input_, self.tp_group)
        else:
            input_ = copy_to_tensor_model_parallel_region(input_, self.tp_group)
        output = torch.nn.functional.linear(input_, _WholeWeight.apply(self.weight, self.tp_group))
        output = output.chunk(tp, -1)[rank].contiguous()
        if self.bias is not None and not self.skip_bias_add:
            output = output + self.bias
        if self.gather_output:
            output = gather_from_tensor_model_parallel_region(output, group=self.tp_group)
        return output, self.bias if self.skip_bias_add else None


class _WholeWeight(torch.autograd.Function):
    @staticmethod
    def forward(ctx, weight, group):
        ctx.group = group
        if group.size() == 1:
            return weight
        whole = weight.new_empty((weight.shape[0] * group.size(), weight.shape[1]))
        dist.all_gather_single(whole, weight.contiguous(), group=group)
        return whole

    @staticmethod
    def backward(ctx, grad_output):
        return grad_output.chunk(ctx.group.size())[ctx.group.rank()], None
