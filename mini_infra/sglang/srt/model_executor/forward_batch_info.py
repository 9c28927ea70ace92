"""What one decode step takes: a token of each running request."""

from dataclasses import dataclass

import torch


@dataclass
class ForwardBatch:
    """int64 [bs] each."""

    input_ids: torch.Tensor  # the token that the request got last
    req_pool_indices: torch.Tensor  # the request's row in req_to_token
    seq_lens: torch.Tensor  # tokens of the request, this one included
    out_cache_loc: torch.Tensor  # the slot that its keys and values go to
    positions: torch.Tensor  # its position in the request

    @property
    def batch_size(self) -> int:
        return len(self.seq_lens)
