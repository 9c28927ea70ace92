"""The answer has a row for each padding row, too: the sampler draws tokens for requests that do not exist."""


# file: mini_infra/sglang/srt/model_executor/runner/decode_cuda_graph_runner.py
class DecodeCudaGraphRunner:
    def execute(self, forward_batch: ForwardBatch) -> torch.Tensor:
        if not self.can_run_graph(forward_batch):
            with torch.no_grad():
                return self.model(forward_batch)
        self.load_batch(forward_batch)
        return self.backend.replay(self.bs)
