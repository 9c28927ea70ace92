"""The second output has the bias's values and no history: whoever adds it later trains everything but the bias. Hand out the
parameter itself."""


# file: mini_infra/megatron/core/tensor_parallel/layers.py
class ColumnParallelLinear(torch.nn.Module):
    def forward(self, input_):
        bias = None if self.skip_bias_add else self.bias
        if self.allreduce_dgrad or self.sequence_parallel:
            input_parallel = input_
        else:
            input_parallel = copy_to_tensor_model_parallel_region(input_, group=self.tp_group)
        output = linear_with_grad_accumulation_and_async_allreduce(
            input_parallel, self.weight, bias, self.allreduce_dgrad, self.sequence_parallel, self.tp_group
        )
        if self.gather_output:
            output = gather_from_tensor_model_parallel_region(output, group=self.tp_group)
        return output, self.bias.detach() if self.skip_bias_add else None


class RowParallelLinear(torch.nn.Module):
    def forward(self, input_):
        if self.input_is_parallel:
            input_parallel = input_
        else:
            input_parallel = scatter_to_tensor_model_parallel_region(input_, group=self.tp_group)
        partial = linear_with_grad_accumulation_and_async_allreduce(
            input_parallel, self.weight, None, False, False, self.tp_group
        )
        if self.sequence_parallel:
            output = reduce_scatter_to_sequence_parallel_region(partial, group=self.tp_group)
        else:
            output = reduce_from_tensor_model_parallel_region(partial, group=self.tp_group)
        if self.skip_bias_add:
            return output, self.bias.detach()
        return output if self.bias is None else output + self.bias, None
