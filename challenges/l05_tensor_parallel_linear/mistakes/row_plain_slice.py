"""dX is right only in this rank's own columns and zero in the others. The layer before is replicated and needs all of them:
a plain slice has no adjoint that crosses ranks."""


# file: mini_infra/megatron/core/tensor_parallel/layers.py
class RowParallelLinear(torch.nn.Module):
    def forward(self, input_):
        if self.input_is_parallel:
            input_parallel = input_
        else:
            input_parallel = input_.chunk(self.tp_group.size(), dim=-1)[self.tp_group.rank()]
        partial = linear_with_grad_accumulation_and_async_allreduce(
            input_parallel, self.weight, None, False, False, self.tp_group
        )
        if self.sequence_parallel:
            output = reduce_scatter_to_sequence_parallel_region(partial, group=self.tp_group)
        else:
            output = reduce_from_tensor_model_parallel_region(partial, group=self.tp_group)
        if self.skip_bias_add:
            return output, self.bias
        return output if self.bias is None else output + self.bias, None
