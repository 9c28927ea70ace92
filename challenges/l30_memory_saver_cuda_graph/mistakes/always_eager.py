"""The answers are right, and no graph is ever replayed."""


# file: mini_infra/sglang/srt/model_executor/runner/decode_cuda_graph_runner.py
class DecodeCudaGraphRunner:
    def execute(self, forward_batch: ForwardBatch) -> torch.Tensor:
        with torch.no_grad():
            return self.model(forward_batch)
