"""LayerNorm weights and the row bias are the same on all ranks, but each rank saw other tokens. Nobody adds their partial
gradients, so the ranks drift apart while the loss still looks right."""


# file: mini_infra/megatron/core/distributed/finalize_model_grads.py
def _allreduce_non_tensor_model_parallel_grads(model, config, tp_group):
    return None
