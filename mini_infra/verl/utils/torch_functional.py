"""Statistics over the positions that a mask selects. Mirrors verl/utils/torch_functional.py.

A mask has the shape of the values and holds 0 and 1, as float, int or bool. What stands where it is 0 is selected
away, never multiplied away: it may be NaN.
"""

import torch


def masked_sum(values: torch.Tensor, mask: torch.Tensor, axis: int | tuple[int, ...] | None = None) -> torch.Tensor:
    """Sum of the values whose mask is 1, over `axis` (None: all)."""
    return torch.where(mask.bool(), values, 0.0).sum(axis)


def masked_mean(values: torch.Tensor, mask: torch.Tensor, axis: int | tuple[int, ...] | None = None) -> torch.Tensor:
    """Mean of the values whose mask is 1, over `axis` (None: all); 0 where the mask selects nothing."""
    count = mask.bool().sum(axis).to(values.dtype)
    return masked_sum(values, mask, axis) / (count + 1e-8)


def masked_var(values: torch.Tensor, mask: torch.Tensor, unbiased: bool = True) -> torch.Tensor:
    """Variance of the values whose mask is 1; unbiased: over count - 1.

    Errors: ValueError where an unbiased variance does not exist, which is with fewer than two values.
    """
    mean = masked_mean(values, mask)
    variance = masked_mean((values - mean) ** 2, mask)
    if not unbiased:
        return variance
    count = int(mask.bool().sum())
    if count == 0:
        raise ValueError("At least one element in the mask has to be 1.")
    if count == 1:
        raise ValueError("An unbiased variance of one value is a division by zero: the mask selects one element.")
    return variance * (count / (count - 1))


def masked_whiten(values: torch.Tensor, mask: torch.Tensor, shift_mean: bool = True) -> torch.Tensor:
    """Scale all values to unit variance and (shift_mean) to mean 0, both measured where the mask is 1 only.

    Positions with mask 0 pass through the same map; they just have no say in it.
    """
    mean, var = masked_mean(values, mask), masked_var(values, mask)
    whitened = (values - mean) * torch.rsqrt(var + 1e-8)
    return whitened if shift_mean else whitened + mean
