"""The replay reads what the buffers held at the capture: nobody has loaded the batch."""


# file: mini_infra/sglang/srt/model_executor/runner/decode_cuda_graph_runner.py
class DecodeCudaGraphRunner:
    def execute(self, forward_batch: ForwardBatch) -> torch.Tensor:
        if not self.can_run_graph(forward_batch):
            with torch.no_grad():
                return self.model(forward_batch)
        self.raw_bs = forward_batch.batch_size
        self.bs = self._pad_to_bucket(self.raw_bs, self.capture_bs)
        return self.backend.replay(self.bs)[: self.raw_bs]
