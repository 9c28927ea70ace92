"""Only batches that fill a bucket exactly are replayed. Most batches do not; that is what padding is for."""


# file: mini_infra/sglang/srt/model_executor/runner/decode_cuda_graph_runner.py
class DecodeCudaGraphRunner:
    def execute(self, forward_batch: ForwardBatch) -> torch.Tensor:
        if forward_batch.batch_size not in self.capture_bs:
            with torch.no_grad():
                return self.model(forward_batch)
        self.load_batch(forward_batch)
        return self.backend.replay(self.bs)[: self.raw_bs]
