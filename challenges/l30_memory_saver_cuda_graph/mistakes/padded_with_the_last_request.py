"""The padding repeats the last request, which then is computed many times, and writes its slot as often. Harmless today; with
a sampler, a counter or a quantised cache it is not. Padding belongs to nobody."""


# file: mini_infra/sglang/srt/model_executor/runner/decode_cuda_graph_runner.py
class DecodeCudaGraphRunner:
    def load_batch(self, forward_batch: ForwardBatch) -> None:
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
            buffer[raw_bs:bs].fill_(values[-1])
        self.raw_bs, self.bs = raw_bs, bs
