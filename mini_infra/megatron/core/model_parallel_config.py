"""What every parallel layer needs to know. Source: megatron/core/model_parallel_config.py of megatron-core 0.19.2."""

from dataclasses import dataclass

import torch


@dataclass
class ModelParallelConfig:
    """How the model is cut over ranks.

    tensor_model_parallel_size: ranks that share one layer (tp).
    sequence_parallel: between TP regions each rank holds s/tp of the sequence instead of all of it.
    params_dtype: dtype of the weights.
    """

    tensor_model_parallel_size: int = 1
    sequence_parallel: bool = False
    params_dtype: torch.dtype = torch.float32

    def __post_init__(self) -> None:
        """ValueError for sequence parallelism without tensor parallelism."""
        if self.sequence_parallel and self.tensor_model_parallel_size <= 1:
            raise ValueError("Cannot use sequence parallelism without tensor parallelism")
