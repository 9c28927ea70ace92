"""Load megatron-core's tensor-parallel layers, borders and gradient reduction; the models around them stay out."""

import torch

from grading.sandbox.stubs import absent, hollow, leave, stub

hollow(
    snapshot,  # noqa: F821
    *["megatron", "megatron.core", "megatron.core.tensor_parallel", "megatron.core.distributed"],
    *["megatron.core.dist_checkpointing", "megatron.core.transformer", "megatron.core.pipeline_parallel"],
    *["megatron.core.inference", "megatron.core.transformer.moe"],
)
NAMES = {
    "inference.symmetric_memory": "SymmetricMemoryManager",
    "tensor_parallel.random": "get_cuda_rng_tracker get_expert_parallel_rng_tracker_name",
    "transformer.utils": "make_sharded_tensors_for_checkpoint",
    "transformer.transformer_config": "TransformerConfig",
    "transformer.moe.moe_utils": "get_updated_expert_bias",
    "pipeline_parallel.utils": "get_pp_last_rank is_pp_first_stage is_pp_last_stage",
}
for module, names in NAMES.items():
    stub(f"megatron.core.{module}", names)
absent("torch.distributed._tensor")  # upstream does without DTensor; its import takes seconds
import megatron.core.distributed.finalize_model_grads  # noqa: E402
import megatron.core.tensor_parallel.layers  # noqa: E402
from megatron.core import parallel_state  # noqa: E402

leave("torch.distributed._tensor")
parallel_state._set_global_memory_buffer()  # what initialize_model_parallel does; the groups are the probes' own
torch.cuda.current_device = lambda: "cpu"  # upstream's buffers are made there
megatron.core.tensor_parallel.layers.linear_with_grad_accumulation_and_async_allreduce.warned = True
