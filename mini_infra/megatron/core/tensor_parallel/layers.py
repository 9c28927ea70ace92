"""Linear layers cut over the ranks of a tensor-parallel (TP) group, with optional sequence parallelism (SP).

A dense layer is Y = X Wᵀ + bias with X [s, b, h], W [o, h]. The column layer cuts W by output (rows of W), the row
layer by input (columns of W); column → nonlinearity → row needs one collective a pass. With SP the tensors between
such blocks are cut along the sequence, [s/tp, b, h]. Source: megatron/core/tensor_parallel/layers.py of megatron-core
0.19.2.
"""

import warnings
from collections.abc import Callable

import torch
import torch.distributed as dist
from torch.distributed import ProcessGroup
from torch.nn.parameter import Parameter

from mini_infra.megatron.core.model_parallel_config import ModelParallelConfig
from mini_infra.megatron.core.tensor_parallel.mappings import (
    copy_to_tensor_model_parallel_region,
    gather_from_tensor_model_parallel_region,
    reduce_from_tensor_model_parallel_region,
    reduce_scatter_to_sequence_parallel_region,
    scatter_to_tensor_model_parallel_region,
)
from mini_infra.megatron.core.utils import divide, prepare_input_tensors_for_wgrad_compute


def set_tensor_model_parallel_attributes(tensor: torch.Tensor, is_parallel: bool, dim: int) -> None:
    """Mark a parameter as cut along `dim` over the TP ranks, for optimizer and checkpoints."""
    tensor.tensor_model_parallel = is_parallel
    tensor.partition_dim = dim


def _initialize_affine_weight_cpu(
    weight: Parameter,
    output_size: int,
    input_size: int,
    partition_dim: int,
    init_method: Callable,
    tp_group: ProcessGroup,
) -> None:
    """Fill `weight` with this rank's slice of the dense [output_size, input_size] matrix.

    Every rank initialises the whole matrix by `init_method` (in place, same random state on all ranks) and keeps its
    part, so that tp changes no initial value.
    """
    set_tensor_model_parallel_attributes(weight, True, partition_dim)
    master_weight = torch.empty(output_size, input_size, dtype=weight.dtype)
    init_method(master_weight)
    with torch.no_grad():
        weight.copy_(master_weight.chunk(tp_group.size(), dim=partition_dim)[tp_group.rank()])


class LinearWithGradAccumulationAndAsyncCommunication(torch.autograd.Function):
    """y = x wᵀ + bias on one rank, whose backward hides its communication behind its matrix products.

    With SP the layer's input is only this rank's part of the sequence: the whole is gathered for the product, and
    gathered once more in backward instead of being kept.
    """

    @staticmethod
    def forward(ctx, input, weight, bias, allreduce_dgrad, sequence_parallel, tp_group):
        """y = x wᵀ (+ bias unless it is None), where x is the input of the whole sequence.

        input [s, b, h], or with `sequence_parallel` [s/tp, b, h], perhaps not contiguous; weight [o, h]; bias [o].
        Returns [s, b, o]. `allreduce_dgrad`: backward sums the input's gradient over `tp_group`; never together with
        `sequence_parallel`. With neither, as in a group of one, both passes are local. Saves for backward exactly
        `input` as it came in, and `weight` (contract 6). Collectives: contract 5.
        """
        ctx.save_for_backward(input, weight)
        ctx.use_bias = bias is not None
        ctx.allreduce_dgrad = allreduce_dgrad
        ctx.sequence_parallel = sequence_parallel
        ctx.tp_group = tp_group

        total_input = input  # [s, b, h]
        if sequence_parallel:
            input = input.contiguous()  # gloo takes any strides, NCCL does not
            total_input = input.new_empty((input.shape[0] * tp_group.size(), *input.shape[1:]))
            dist.all_gather_single(total_input, input, group=tp_group)
        output = torch.matmul(total_input, weight.t())  # [s, b, o]
        return output if bias is None else output + bias

    @staticmethod
    def backward(ctx, grad_output):
        """Gradients of input, weight and bias: (dinput, dweight, dbias, None, None, None).

        grad_output [s, b, o], perhaps not contiguous, not to be written. dinput has the shape of `input`: summed over
        the group with `allreduce_dgrad`, with `sequence_parallel` this rank's part [s/tp, b, h] of that sum. dweight
        [o, h] and dbias [o] sum over the whole sequence; dbias is None without a bias. A frozen weight gets None, and
        costs no gather; dinput, with its collective, and dbias are due as ever. An input that needs no gradient changes
        no call. Order of products, posts and waits: contract 7.
        """
        input, weight = ctx.saved_tensors
        tp_group = ctx.tp_group
        wgrad_compute = ctx.needs_input_grad[1]
        handle = None

        total_input = input
        if ctx.sequence_parallel and wgrad_compute:
            input = input.contiguous()
            total_input = input.new_empty((input.shape[0] * tp_group.size(), *input.shape[1:]))  # [s, b, h]
            handle = dist.all_gather_single(total_input, input, group=tp_group, async_op=True)

        grad_input = grad_output.matmul(weight)  # [s, b, h], this rank's share
        if handle is not None:
            handle.wait()

        if ctx.allreduce_dgrad:
            # grad_input is this function's own tensor: it may be reduced in place.
            handle = dist.all_reduce(grad_input, group=tp_group, async_op=True)
        elif ctx.sequence_parallel:
            share, grad_input = grad_input, grad_input.new_empty(input.shape)  # [s/tp, b, h]
            handle = dist.reduce_scatter_single(grad_input, share, group=tp_group, async_op=True)

        grad_weight = None
        if wgrad_compute:
            grad_2d, input_2d = prepare_input_tensors_for_wgrad_compute(grad_output, total_input)
            grad_weight = grad_2d.t().matmul(input_2d)  # [o, h]
        grad_bias = grad_output.reshape(-1, grad_output.shape[-1]).sum(dim=0) if ctx.use_bias else None

        if handle is not None:
            handle.wait()
        return grad_input, grad_weight, grad_bias, None, None, None


def linear_with_grad_accumulation_and_async_allreduce(
    input: torch.Tensor,
    weight: torch.Tensor,
    bias: torch.Tensor | None,
    allreduce_dgrad: bool,
    sequence_parallel: bool,
    tp_group: ProcessGroup,
) -> torch.Tensor:
    """The linear function above, as the layers call it: [s, b, h] (SP: [s/tp, b, h]) -> [s, b, o]."""
    return LinearWithGradAccumulationAndAsyncCommunication.apply(
        input, weight, bias, allreduce_dgrad, sequence_parallel, tp_group
    )


class ColumnParallelLinear(torch.nn.Module):
    """A linear layer cut by output: rank r holds rows W.chunk(tp, 0)[r] and bias.chunk(tp)[r].

    gather_output: return the whole output on every rank instead of this rank's part. skip_bias_add: return the bias
    beside the output instead of adding it, for a caller that fuses it. AssertionError if tp does not divide
    `output_size` or `tp_group` is None. The bias starts at zero.
    """

    def __init__(
        self,
        input_size: int,
        output_size: int,
        *,
        config: ModelParallelConfig,
        init_method: Callable,
        bias: bool = True,
        gather_output: bool = False,
        skip_bias_add: bool = False,
        tp_group: ProcessGroup,
    ):
        super().__init__()
        assert tp_group is not None, "tp_group should not be None"
        self.input_size = input_size
        self.output_size = output_size
        self.gather_output = gather_output
        self.skip_bias_add = skip_bias_add
        self.tp_group = tp_group
        self.output_size_per_partition = divide(output_size, tp_group.size())

        self.weight = Parameter(torch.empty(self.output_size_per_partition, input_size, dtype=config.params_dtype))
        _initialize_affine_weight_cpu(self.weight, output_size, input_size, 0, init_method, tp_group)
        if bias:
            self.bias = Parameter(torch.zeros(self.output_size_per_partition, dtype=config.params_dtype))
            set_tensor_model_parallel_attributes(self.bias, True, 0)
        else:
            self.register_parameter("bias", None)

        self.sequence_parallel = config.sequence_parallel
        if self.sequence_parallel and tp_group.size() == 1:
            warnings.warn("A tp_group of one rank has no sequence to share: sequence_parallel is off", stacklevel=2)
            self.sequence_parallel = False
        self.allreduce_dgrad = tp_group.size() > 1 and not self.sequence_parallel

    def forward(self, input_: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor | None]:
        """This rank's part of Y = X Wᵀ + bias.

        input_ [s, b, h], equal on all ranks; with sequence parallelism this rank's [s/tp, b, h]. Returns (output,
        output_bias): output [s, b, o/tp], or [s, b, o] with `gather_output`; output_bias is this rank's bias, not yet
        added, with `skip_bias_add`, else None. `self.allreduce_dgrad` and `self.sequence_parallel` tell the linear
        function what its backward owes. With tp > 1 one of them is set: the linear function then owes the copy
        border's adjoint itself, so that it can overlap. Neither is set only in a group of one, where that border is
        silent. Collectives: contract 5.
        """
        bias = None if self.skip_bias_add else self.bias
        if self.allreduce_dgrad or self.sequence_parallel:
            input_parallel = input_  # the linear's own backward reduces dX, overlapped with dW
        else:
            input_parallel = copy_to_tensor_model_parallel_region(input_, group=self.tp_group)
        output = linear_with_grad_accumulation_and_async_allreduce(
            input_parallel, self.weight, bias, self.allreduce_dgrad, self.sequence_parallel, self.tp_group
        )  # [s, b, o/tp]
        if self.gather_output:
            output = gather_from_tensor_model_parallel_region(output, group=self.tp_group)  # [s, b, o]
        return output, self.bias if self.skip_bias_add else None


class RowParallelLinear(torch.nn.Module):
    """A linear layer cut by input: rank r holds columns W.chunk(tp, 1)[r] and the whole bias.

    input_is_parallel: the input is already this rank's [s, b, h/tp]; otherwise it is whole and the layer cuts it.
    skip_bias_add: as in the column layer. With sequence parallelism the bias is marked `sequence_parallel`: it is
    equal on all ranks, but each sees only its part of the sequence. AssertionError if tp does not divide `input_size`
    or `tp_group` is None; RuntimeError for sequence parallelism with a whole input. The bias starts at zero.
    """

    def __init__(
        self,
        input_size: int,
        output_size: int,
        *,
        config: ModelParallelConfig,
        init_method: Callable,
        bias: bool,
        input_is_parallel: bool,
        skip_bias_add: bool,
        tp_group: ProcessGroup,
    ):
        super().__init__()
        assert tp_group is not None, "tp_group should not be None"
        if config.sequence_parallel and not input_is_parallel:
            raise RuntimeError("To enable `sequence_parallel`, `input_is_parallel` must be `True`")
        self.input_size = input_size
        self.output_size = output_size
        self.input_is_parallel = input_is_parallel
        self.skip_bias_add = skip_bias_add
        self.sequence_parallel = config.sequence_parallel
        self.tp_group = tp_group
        self.input_size_per_partition = divide(input_size, tp_group.size())

        self.weight = Parameter(torch.empty(output_size, self.input_size_per_partition, dtype=config.params_dtype))
        _initialize_affine_weight_cpu(self.weight, output_size, input_size, 1, init_method, tp_group)
        if bias:
            self.bias = Parameter(torch.zeros(output_size, dtype=config.params_dtype))
            self.bias.sequence_parallel = self.sequence_parallel
        else:
            self.register_parameter("bias", None)

    def forward(self, input_: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor | None]:
        """Y = X Wᵀ + bias on every rank, or with sequence parallelism this rank's part of the sequence.

        input_ [s, b, h/tp], or [s, b, h] equal on all ranks without `input_is_parallel`. Returns (output,
        output_bias): output [s, b, o] (SP: [s/tp, b, o]); output_bias is the whole bias, not yet added, with
        `skip_bias_add`, else None. Each rank's product is one summand of Y. Collectives: contract 5.
        """
        if self.input_is_parallel:
            input_parallel = input_
        else:
            input_parallel = scatter_to_tensor_model_parallel_region(input_, group=self.tp_group)  # [s, b, h/tp]
        # The bias must not go in here: the sum over ranks would add it tp times.
        partial = linear_with_grad_accumulation_and_async_allreduce(
            input_parallel, self.weight, None, False, False, self.tp_group
        )  # [s, b, o], one summand of Y
        if self.sequence_parallel:
            output = reduce_scatter_to_sequence_parallel_region(partial, group=self.tp_group)  # [s/tp, b, o]
        else:
            output = reduce_from_tensor_model_parallel_region(partial, group=self.tp_group)
        if self.skip_bias_add:
            return output, self.bias
        return output if self.bias is None else output + self.bias, None
