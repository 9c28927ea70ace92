"""The borders of a tensor-parallel region, as autograd functions.

Tensors are [s, b, h]: sequence, batch, hidden. Tensor parallelism (TP) cuts the last dim, sequence parallelism (SP)
cuts the first. Each function here moves a tensor over one border; its backward moves the gradient the other way and
must be the *adjoint* (transpose) of the forward, seen as one linear map over the stacked tensors of all ranks.
A group of one rank makes no collective. Source: megatron/core/tensor_parallel/mappings.py of megatron-core 0.19.2.
"""

import torch
import torch.distributed as dist
from torch.distributed import ProcessGroup

from mini_infra.megatron.core.tensor_parallel.utils import split_tensor_along_last_dim


def _reduce(input_: torch.Tensor, group: ProcessGroup) -> torch.Tensor:
    """Sum over the ranks of `group`; any shape, every rank gets the whole sum.

    IN PLACE: a contiguous `input_` is overwritten and returned; another one is copied first. Use the returned tensor,
    and hand over only a tensor that nobody else reads.
    """
    assert group is not None, "group should not be None"
    if group.size() == 1:
        return input_
    input_ = input_.contiguous()
    dist.all_reduce(input_, group=group)
    return input_


def _split_along_last_dim(input_: torch.Tensor, group: ProcessGroup) -> torch.Tensor:
    """This rank's slice of the last dim, as a copy: [..., h] -> [..., h/tp]. No collective."""
    assert group is not None, "group should not be None"
    if group.size() == 1:
        return input_
    return split_tensor_along_last_dim(input_, group.size())[group.rank()].contiguous()


def _split_along_first_dim(input_: torch.Tensor, group: ProcessGroup) -> torch.Tensor:
    """This rank's slice of the first dim: [s, ...] -> [s/tp, ...]. No collective. AssertionError if tp does not
    divide s."""
    assert group is not None, "group should not be None"
    if group.size() == 1:
        return input_
    rows = _rows_per_rank(input_, group)
    return input_[group.rank() * rows : (group.rank() + 1) * rows].contiguous()


def _gather_along_last_dim(input_: torch.Tensor, group: ProcessGroup) -> torch.Tensor:
    """All ranks' slices side by side, in rank order: [..., h/tp] -> [..., h]. One all_gather."""
    assert group is not None, "group should not be None"
    if group.size() == 1:
        return input_
    # The wire stacks along the first dim: [tp*s, ..., h/tp]. Cut it again and put the parts side by side.
    stacked = _gather_along_first_dim(input_, group)
    return torch.cat(stacked.chunk(group.size(), dim=0), dim=-1)


def _gather_along_first_dim(input_: torch.Tensor, group: ProcessGroup) -> torch.Tensor:
    """All ranks' slices one after another, in rank order: [s/tp, ...] -> [s, ...]. One all_gather."""
    assert group is not None, "group should not be None"
    if group.size() == 1:
        return input_
    output = input_.new_empty((input_.shape[0] * group.size(), *input_.shape[1:]))
    dist.all_gather_single(output, input_.contiguous(), group=group)
    return output


def _reduce_scatter_along_first_dim(input_: torch.Tensor, group: ProcessGroup) -> torch.Tensor:
    """This rank's slice of the sum over ranks: [s, ...] -> [s/tp, ...]. One reduce_scatter. AssertionError if tp does
    not divide s."""
    assert group is not None, "group should not be None"
    if group.size() == 1:
        return input_
    output = input_.new_empty((_rows_per_rank(input_, group), *input_.shape[1:]))
    dist.reduce_scatter_single(output, input_.contiguous(), group=group)
    return output


def _rows_per_rank(input_: torch.Tensor, group: ProcessGroup) -> int:
    """s/tp; AssertionError if there is a remainder."""
    rows, rest = divmod(input_.shape[0], group.size())
    assert rest == 0, "First dimension of the tensor should be divisible by tensor parallel size"
    return rows


class _CopyToModelParallelRegion(torch.autograd.Function):
    """Enter a TP region: every rank uses the same tensor."""

    @staticmethod
    def forward(ctx, input_, group):
        """[..., h] -> [..., h], replicated; no collective."""
        ctx.group = group
        return input_

    @staticmethod
    def backward(ctx, grad_output):
        """Gradient of the replicated input, equal on all ranks.

        `grad_output` [..., h] says how *this rank's* use of the input changes the loss; the ranks' values differ.
        Returns (gradient of `input_`, None). Does not write into `grad_output`: autograd may hand the same tensor to
        another branch.
        """
        # _reduce works in place, and grad_output may belong to others too.
        return _reduce(grad_output.clone(), ctx.group), None


class _ReduceFromModelParallelRegion(torch.autograd.Function):
    """Leave a TP region: partial sums become the whole sum."""

    @staticmethod
    def forward(ctx, input_, group):
        """[..., h] -> [..., h], the sum over ranks, on every rank; one all_reduce. `input_` keeps its values."""
        ctx.group = group
        return _reduce(input_.clone(), group)

    @staticmethod
    def backward(ctx, grad_output):
        """Gradient of this rank's summand.

        `grad_output` [..., h] is the gradient of the sum, equal on all ranks. Returns (gradient of `input_`, None).
        """
        return grad_output, None


class _ScatterToModelParallelRegion(torch.autograd.Function):
    """Enter a TP region with a slice of the hidden dim."""

    @staticmethod
    def forward(ctx, input_, group):
        """[..., h], equal on all ranks -> this rank's [..., h/tp]; no collective."""
        ctx.group = group
        return _split_along_last_dim(input_, group)

    @staticmethod
    def backward(ctx, grad_output):
        """Gradient of the whole replicated input, equal on all ranks.

        `grad_output` [..., h/tp] belongs to this rank's slice. Returns (gradient of `input_` [..., h], None).
        """
        return _gather_along_last_dim(grad_output, ctx.group), None


class _GatherFromModelParallelRegion(torch.autograd.Function):
    """Leave a TP region: slices of the hidden dim become the whole, and every rank goes on with it."""

    @staticmethod
    def forward(ctx, input_, group):
        """[..., h/tp] -> [..., h], equal on all ranks; one all_gather."""
        ctx.group = group
        return _gather_along_last_dim(input_, group)

    @staticmethod
    def backward(ctx, grad_output):
        """Gradient of this rank's slice.

        `grad_output` [..., h] is equal on all ranks: what follows is computed by all of them alike, and counts once.
        Returns (gradient of `input_` [..., h/tp], None).
        """
        return _split_along_last_dim(grad_output, ctx.group), None


class _GatherFromSequenceParallelRegion(torch.autograd.Function):
    """Leave an SP region: slices of the sequence become the whole sequence."""

    @staticmethod
    def forward(ctx, input_, group, tensor_parallel_output_grad=True):
        """[s/tp, b, h] -> [s, b, h], equal on all ranks; one all_gather.

        `tensor_parallel_output_grad`: True when a TP region follows (each rank computes another part of it), False
        when what follows is duplicated (each rank computes all of it).
        """
        ctx.group = group
        ctx.tensor_parallel_output_grad = tensor_parallel_output_grad
        return _gather_along_first_dim(input_, group)

    @staticmethod
    def backward(ctx, grad_output):
        """Gradient of this rank's slice of the sequence.

        `grad_output` [s, b, h]: with `tensor_parallel_output_grad` each rank holds its own share of the gradient, and
        the shares differ; without it all ranks hold the same, whole gradient.
        Returns (gradient of `input_` [s/tp, b, h], None, None).
        """
        if ctx.tensor_parallel_output_grad:
            return _reduce_scatter_along_first_dim(grad_output, ctx.group), None, None
        return _split_along_first_dim(grad_output, ctx.group), None, None


class _ReduceScatterToSequenceParallelRegion(torch.autograd.Function):
    """Leave a TP region into an SP region: partial sums become this rank's slice of the whole sum."""

    @staticmethod
    def forward(ctx, input_, group):
        """[s, b, h], a partial sum -> [s/tp, b, h]; one reduce_scatter."""
        ctx.group = group
        return _reduce_scatter_along_first_dim(input_, group)

    @staticmethod
    def backward(ctx, grad_output):
        """Gradient of this rank's summand.

        `grad_output` [s/tp, b, h] belongs to this rank's slice of the sequence. Returns (gradient of `input_`
        [s, b, h], None).
        """
        return _gather_along_first_dim(grad_output, ctx.group), None


def copy_to_tensor_model_parallel_region(input_: torch.Tensor, group: ProcessGroup) -> torch.Tensor:
    """[..., h] replicated -> the same, to be used by each rank in its own way."""
    assert group is not None, "group should not be None"
    return _CopyToModelParallelRegion.apply(input_, group)


def reduce_from_tensor_model_parallel_region(input_: torch.Tensor, group: ProcessGroup) -> torch.Tensor:
    """[..., h] partial -> [..., h] summed, on every rank."""
    return _ReduceFromModelParallelRegion.apply(input_, group)


def scatter_to_tensor_model_parallel_region(input_: torch.Tensor, group: ProcessGroup) -> torch.Tensor:
    """[..., h] replicated -> [..., h/tp]."""
    return _ScatterToModelParallelRegion.apply(input_, group)


def gather_from_tensor_model_parallel_region(input_: torch.Tensor, group: ProcessGroup) -> torch.Tensor:
    """[..., h/tp] -> [..., h] on every rank, used alike by all."""
    return _GatherFromModelParallelRegion.apply(input_, group)


def gather_from_sequence_parallel_region(
    input_: torch.Tensor, group: ProcessGroup, tensor_parallel_output_grad: bool = True
) -> torch.Tensor:
    """[s/tp, b, h] -> [s, b, h] on every rank; the flag says whether a TP region follows."""
    return _GatherFromSequenceParallelRegion.apply(input_, group, tensor_parallel_output_grad)


def reduce_scatter_to_sequence_parallel_region(input_: torch.Tensor, group: ProcessGroup) -> torch.Tensor:
    """[s, b, h] partial -> [s/tp, b, h] summed."""
    return _ReduceScatterToSequenceParallelRegion.apply(input_, group)
