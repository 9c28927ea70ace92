"""A batch beyond the largest bucket is an error. Traffic does not know your buckets."""


# file: mini_infra/sglang/srt/model_executor/runner/decode_cuda_graph_runner.py
class DecodeCudaGraphRunner:
    def execute(self, forward_batch: ForwardBatch) -> torch.Tensor:
        self.load_batch(forward_batch)
        return self.backend.replay(self.bs)[: self.raw_bs]
