"""Your output differs from the dense one by a multiple of one vector. Which term is summed tp times?"""


# file: mini_infra/megatron/core/tensor_parallel/layers.py
class RowParallelLinear(torch.nn.Module):
    def forward(self, input_):
        if self.input_is_parallel:
            input_parallel = input_
        else:
            input_parallel = scatter_to_tensor_model_parallel_region(input_, group=self.tp_group)
        bias = None if self.skip_bias_add else self.bias
        partial = linear_with_grad_accumulation_and_async_allreduce(
            input_parallel, self.weight, bias, False, False, self.tp_group
        )
        if self.sequence_parallel:
            output = reduce_scatter_to_sequence_parallel_region(partial, group=self.tp_group)
        else:
            output = reduce_from_tensor_model_parallel_region(partial, group=self.tp_group)
        if self.skip_bias_add:
            return output, self.bias
        return output, None
