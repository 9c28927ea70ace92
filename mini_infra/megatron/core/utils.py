"""Small helpers of Megatron core. Source: megatron/core/utils.py of megatron-core 0.19.2."""

import torch


def ensure_divisibility(numerator: int, denominator: int) -> None:
    """AssertionError unless `denominator` divides `numerator`."""
    assert numerator % denominator == 0, f"{numerator} is not divisible by {denominator}"


def divide(numerator: int, denominator: int) -> int:
    """The exact quotient; AssertionError when there is a remainder."""
    ensure_divisibility(numerator, denominator)
    return numerator // denominator


def prepare_input_tensors_for_wgrad_compute(
    grad_output: torch.Tensor, all_gathered_input: torch.Tensor
) -> tuple[torch.Tensor, torch.Tensor]:
    """Both operands of the weight gradient as contiguous matrices: leading dims become one token dim.

    [s, b, o], [s, b, h] -> [s*b, o], [s*b, h]. Neither operand is written; contiguous ones are not copied.
    """
    grad_output = grad_output.reshape(-1, grad_output.shape[-1])
    all_gathered_input = all_gathered_input.reshape(-1, all_gathered_input.shape[-1])
    return grad_output.contiguous(), all_gathered_input.contiguous()
