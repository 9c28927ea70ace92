"""The values and the volume are right, but the gradient's all-reduce waits inside the copy region's backward, before the
next layer can go on: the linear function's own backward could hide it behind dW."""


# file: mini_infra/megatron/core/tensor_parallel/layers.py
class ColumnParallelLinear(torch.nn.Module):
    def forward(self, input_):
        bias = None if self.skip_bias_add else self.bias
        if self.sequence_parallel:
            input_parallel = input_
        else:
            input_parallel = copy_to_tensor_model_parallel_region(input_, group=self.tp_group)
        output = linear_with_grad_accumulation_and_async_allreduce(
            input_parallel, self.weight, bias, False, self.sequence_parallel, self.tp_group
        )
        if self.gather_output:
            output = gather_from_tensor_model_parallel_region(output, group=self.tp_group)
        return output, self.bias if self.skip_bias_add else None
