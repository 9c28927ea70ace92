"""`skip_bias_add` asks for the bias beside the output, not in it: the caller adds it later, in one fused kernel. Yours adds
it twice."""


# file: mini_infra/megatron/core/tensor_parallel/layers.py
class ColumnParallelLinear(torch.nn.Module):
    def forward(self, input_):
        bias = self.bias
        if self.allreduce_dgrad or self.sequence_parallel:
            input_parallel = input_
        else:
            input_parallel = copy_to_tensor_model_parallel_region(input_, group=self.tp_group)
        output = linear_with_grad_accumulation_and_async_allreduce(
            input_parallel, self.weight, bias, self.allreduce_dgrad, self.sequence_parallel, self.tp_group
        )
        if self.gather_output:
            output = gather_from_tensor_model_parallel_region(output, group=self.tp_group)
        return output, self.bias if self.skip_bias_add else None
