"""Decode steps by captured graphs: a batch is padded to a bucket, copied into static buffers, and replayed."""

from collections.abc import Callable, Sequence

import torch

from mini_infra.sglang.srt.model_executor.forward_batch_info import ForwardBatch
from mini_infra.sglang.srt.model_executor.runner.base_cuda_graph_runner import BaseCudaGraphRunner
from mini_infra.sglang.srt.model_executor.runner_backend.full_cuda_graph_backend import FullCudaGraphBackend
from mini_infra.sglang.srt.model_executor.runner_utils.buffers import DecodeInputBuffers


class DecodeCudaGraphRunner(BaseCudaGraphRunner):
    """Graphs of `model(batch) -> logits [bs, V]` for the sorted batch sizes `capture_bs`, captured at once."""

    def __init__(
        self, model: Callable[[ForwardBatch], torch.Tensor], capture_bs: Sequence[int], backend: FullCudaGraphBackend
    ):
        self.model, self.capture_bs, self.backend = model, list(capture_bs), backend
        self.max_bs = self.capture_bs[-1]
        self.buffers = DecodeInputBuffers.create(self.max_bs)
        self.raw_bs = self.bs = 0
        self.capture()

    def capture(self) -> None:
        for bs in self.capture_bs:
            self.capture_one_shape(bs)

    def capture_one_shape(self, size: int) -> None:
        """Capture the model on the first `size` rows of the buffers."""
        batch = self.buffers.head(size)
        self.backend.capture_one(size, lambda: self.model(batch))

    def can_run_graph(self, forward_batch: ForwardBatch) -> bool:
        return forward_batch.batch_size <= self.max_bs

    def load_batch(self, forward_batch: ForwardBatch) -> None:
        """Copy the batch into the static buffers, and pad it to its bucket.

        `raw_bs` becomes the batch's size, `bs` the smallest bucket that holds it. The first `raw_bs` rows of each
        buffer hold the batch; the rows from there to `bs` hold padding: a sequence of length 1 whose token, position
        and row are 0, and whose keys and values go to slot 0, which no request owns. The buffers stay where they are.
        """
        raw_bs, buffers = forward_batch.batch_size, self.buffers
        bs = self._pad_to_bucket(raw_bs, self.capture_bs)
        for buffer, values, padding in (
            (buffers.input_ids, forward_batch.input_ids, 0),
            (buffers.req_pool_indices, forward_batch.req_pool_indices, 0),
            (buffers.seq_lens, forward_batch.seq_lens, 1),
            (buffers.out_cache_loc, forward_batch.out_cache_loc, 0),
            (buffers.positions, forward_batch.positions, 0),
        ):
            buffer[:raw_bs].copy_(values)
            buffer[raw_bs:bs].fill_(padding)
        self.raw_bs, self.bs = raw_bs, bs

    def execute(self, forward_batch: ForwardBatch) -> torch.Tensor:
        """Logits [batch size, V] of the batch, by a replay of its bucket's graph.

        A batch that no bucket holds (`can_run_graph`) goes through the model itself. Nothing is captured here.
        """
        if not self.can_run_graph(forward_batch):
            with torch.no_grad():
                return self.model(forward_batch)
        self.load_batch(forward_batch)
        return self.backend.replay(self.bs)[: self.raw_bs]
