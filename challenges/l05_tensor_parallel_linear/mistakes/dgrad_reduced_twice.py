"""dX of the column layer is too big. Two things reduce it: the region that the input enters, and the linear function's own
backward. One of them is enough, and only one overlaps with dW."""


# file: mini_infra/megatron/core/tensor_parallel/layers.py
class ColumnParallelLinear(torch.nn.Module):
    def forward(self, input_):
        bias = None if self.skip_bias_add else self.bias
        input_parallel = copy_to_tensor_model_parallel_region(input_, group=self.tp_group)
        output = linear_with_grad_accumulation_and_async_allreduce(
            input_parallel, self.weight, bias, self.allreduce_dgrad, self.sequence_parallel, self.tp_group
        )
        if self.gather_output:
            output = gather_from_tensor_model_parallel_region(output, group=self.tp_group)
        return output, self.bias if self.skip_bias_add else None
