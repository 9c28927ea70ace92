"""Each step captures its graph anew. The answers are right, since nothing is replayed from before; so is the time that graphs
were to save."""


# file: mini_infra/sglang/srt/model_executor/runner/decode_cuda_graph_runner.py
class DecodeCudaGraphRunner:
    def execute(self, forward_batch: ForwardBatch) -> torch.Tensor:
        if not self.can_run_graph(forward_batch):
            with torch.no_grad():
                return self.model(forward_batch)
        self.load_batch(forward_batch)
        self.capture_one_shape(self.bs)
        return self.backend.replay(self.bs)[: self.raw_bs]
