"""One layer of attention over a paged KV cache: as small as a model with rotary tables and a pool can be."""

from collections.abc import Callable

import torch
from torch import nn

from mini_infra.sglang.srt.model_executor.forward_batch_info import ForwardBatch

Allocate = Callable[[tuple[int, ...], torch.dtype], torch.Tensor]


class TinyDecoder(nn.Module):
    """Its parameters and buffers come from `allocate`, zero; `load_weights` fills parameters, `init_buffers` the rest.

    Two pairs of channels turn with the position, by the angles `inv_freq`, a buffer that no state dict holds; the
    residual is centred by the statistics `running_mean`.
    """

    def __init__(self, vocab: int, dim: int, allocate: Allocate, dtype: torch.dtype):
        super().__init__()
        shapes = {"embed": (vocab, dim), "head": (vocab, dim), **dict.fromkeys(("wq", "wk", "wv", "wo"), (dim, dim))}
        for name, shape in shapes.items():
            self.register_parameter(name, nn.Parameter(allocate(shape, dtype), requires_grad=False))
        self.register_buffer("inv_freq", allocate((dim // 2,), dtype), persistent=False)
        self.register_buffer("running_mean", allocate((dim,), dtype))

    def init_buffers(self, running_mean: torch.Tensor) -> None:
        """The rotary angles, 1 / 100^(i / n), and the statistics."""
        half = len(self.inv_freq)
        self.inv_freq.copy_(100.0 ** (-torch.arange(half, dtype=torch.float64) / half))
        self.running_mean.copy_(running_mean)

    def load_weights(self, weights: dict[str, torch.Tensor]) -> None:
        """Copy into the parameters, in place."""
        for name, parameter in self.named_parameters():
            parameter.copy_(weights[name])

    def _turn(self, x: torch.Tensor, positions: torch.Tensor) -> torch.Tensor:
        """Rotate the halves of x [bs, dim] against each other by positions · inv_freq."""
        angles = positions[:, None] * self.inv_freq
        a, b = x.chunk(2, dim=1)
        return torch.cat([a * angles.cos() - b * angles.sin(), a * angles.sin() + b * angles.cos()], dim=1)

    def forward(self, batch: ForwardBatch, pool: "KVPool") -> torch.Tensor:
        """Write this step's keys and values, attend to all of the request: logits [bs, vocab]."""
        x = self.embed[batch.input_ids] - self.running_mean
        pool.k[batch.out_cache_loc] = self._turn(x @ self.wk, batch.positions)
        pool.v[batch.out_cache_loc] = x @ self.wv
        slots = pool.req_to_token[batch.req_pool_indices]  # [bs, max_len]
        scores = (pool.k[slots] @ self._turn(x @ self.wq, batch.positions)[:, :, None])[:, :, 0]
        beyond = torch.arange(slots.shape[1]) >= batch.seq_lens[:, None]
        weights = scores.masked_fill(beyond, -torch.inf).softmax(dim=1)
        x = x + (weights[:, None] @ pool.v[slots])[:, 0] @ self.wo
        return x @ self.head.T


class KVPool:
    """Keys and values by slot, [slots, dim], and each request's slots by position, int64 [rows, max_len].

    Slot 0 and row 0 belong to no request: padding reads and writes there.
    """

    def __init__(self, slots: int, rows: int, max_len: int, dim: int, allocate: Allocate, dtype: torch.dtype):
        self.k, self.v = allocate((slots, dim), dtype), allocate((slots, dim), dtype)
        self.req_to_token = allocate((rows, max_len), torch.int64)
