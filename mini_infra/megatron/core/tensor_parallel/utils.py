"""Cutting tensors for tensor parallelism. Source: megatron/core/tensor_parallel/utils.py of megatron-core 0.19.2."""

import torch

from mini_infra.megatron.core.utils import divide


def split_tensor_along_last_dim(tensor: torch.Tensor, num_partitions: int) -> tuple[torch.Tensor, ...]:
    """Equal views along the last dim: [..., h] -> n of [..., h/n]. AssertionError if n does not divide h."""
    size = divide(tensor.shape[-1], num_partitions)
    return torch.split(tensor, size, dim=-1)
