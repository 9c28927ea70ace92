"""Each replay gives the answer of the capture: `self.buffers` holds the new batch in new tensors, and the graph reads the
ones it saw. Copy into them."""


# file: mini_infra/sglang/srt/model_executor/runner/decode_cuda_graph_runner.py
class DecodeCudaGraphRunner:
    def load_batch(self, forward_batch: ForwardBatch) -> None:
        raw_bs = forward_batch.batch_size
        bs = self._pad_to_bucket(raw_bs, self.capture_bs)
        fresh = DecodeInputBuffers.create(self.max_bs)
        fresh.input_ids[:raw_bs] = forward_batch.input_ids
        fresh.req_pool_indices[:raw_bs] = forward_batch.req_pool_indices
        fresh.seq_lens[:raw_bs] = forward_batch.seq_lens
        fresh.out_cache_loc[:raw_bs] = forward_batch.out_cache_loc
        fresh.positions[:raw_bs] = forward_batch.positions
        self.buffers, self.raw_bs, self.bs = fresh, raw_bs, bs
