"""The values are right and the dtype is not: activations and gradients must keep the dtype of the input, or the next layer
pays twice the memory and traffic."""


# file: mini_infra/megatron/core/tensor_parallel/layers.py
class RowParallelLinear(torch.nn.Module):
    def forward(self, input_):
        if self.input_is_parallel:
            input_parallel = input_
        else:
            input_parallel = scatter_to_tensor_model_parallel_region(input_, group=self.tp_group)
        partial = linear_with_grad_accumulation_and_async_allreduce(
            input_parallel, self.weight, None, False, False, self.tp_group
        ).double()
        if self.sequence_parallel:
            output = reduce_scatter_to_sequence_parallel_region(partial, group=self.tp_group)
        else:
            output = reduce_from_tensor_model_parallel_region(partial, group=self.tp_group)
        if self.skip_bias_add:
            return output, self.bias
        return output if self.bias is None else output + self.bias, None
