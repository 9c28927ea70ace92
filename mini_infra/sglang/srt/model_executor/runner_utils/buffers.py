"""The tensors that a captured graph reads its batch from."""

import torch

from mini_infra.sglang.srt.model_executor.forward_batch_info import ForwardBatch


class DecodeInputBuffers(ForwardBatch):
    """A ForwardBatch of the largest bucket, at addresses that a graph remembers: written to, never replaced."""

    @classmethod
    def create(cls, max_bs: int) -> "DecodeInputBuffers":
        """Buffers of `max_bs` rows of padding."""
        given = [torch.zeros(max_bs, dtype=torch.int64) for _ in range(5)]
        buffers = cls(*given)
        buffers.seq_lens.fill_(1)
        return buffers

    def head(self, bs: int) -> ForwardBatch:
        """The first `bs` rows, as views."""
        rows = (self.input_ids, self.req_pool_indices, self.seq_lens, self.out_cache_loc, self.positions)
        return ForwardBatch(*[buffer[:bs] for buffer in rows])
