"""You changed given code: a tensor that tp does not divide, or a missing group, must still be refused with upstream's words,
before any rank waits for another."""


# file: mini_infra/megatron/core/tensor_parallel/mappings.py
def _rows_per_rank(input_, group):
    return input_.shape[0] // group.size()


# file: mini_infra/megatron/core/tensor_parallel/layers.py
class RowParallelLinear(torch.nn.Module):
    def __init__(
        self, input_size, output_size, *, config, init_method, bias, input_is_parallel, skip_bias_add, tp_group
    ):
        super().__init__()
        self.input_size = input_size
        self.output_size = output_size
        self.input_is_parallel = input_is_parallel
        self.skip_bias_add = skip_bias_add
        self.sequence_parallel = config.sequence_parallel
        self.tp_group = tp_group
        self.input_size_per_partition = input_size // tp_group.size()
        self.weight = Parameter(torch.empty(output_size, self.input_size_per_partition, dtype=config.params_dtype))
        _initialize_affine_weight_cpu(self.weight, output_size, input_size, 1, init_method, tp_group)
        if bias:
            self.bias = Parameter(torch.zeros(output_size, dtype=config.params_dtype))
            self.bias.sequence_parallel = self.sequence_parallel
        else:
            self.register_parameter("bias", None)
