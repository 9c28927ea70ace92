"""Load sglang's radix cache with its keys, nodes, strategies and parameters; the server around it stays out."""

from grading.sandbox.stubs import hollow, stub

hollow(
    snapshot,  # noqa: F821
    *["sglang", "sglang.srt", "sglang.srt.mem_cache", "sglang.srt.mem_cache.unified_cache"],
    *["sglang.srt.mem_cache.cpp_utils", "sglang.srt.utils", "sglang.srt.observability", "sglang.srt.disaggregation"],
    *["sglang.kernels", "sglang.kernels.ops", "sglang.kernels.ops.kvcache"],
)
COPIES = ["get_mla_kv_buffer", "set_mla_kv_buffer", "set_mla_kv_buffer_fp8_quant", "set_mla_kv_scale_buffer"]
NAMES = {
    "mem_cache.allocator": "BaseTokenToKVPoolAllocator",
    "mem_cache.memory_pool": "ReqToTokenPool",
    "observability.metrics_collector": "STAT_LOGGER_ROLE_RADIX_CACHE RadixCacheMetricsCollector "
    "radix_cache_metric_labels resolve_collector_class",
    "runtime_context": "get_observability get_parallel",
    "utils.common": "ceil_align",
    "disaggregation.kv_events": "AllBlocksCleared BlockRemoved BlockStored StorageMedium kv_event_namespace_seed "
    "namespaced_block_hash",
}
for module, names in NAMES.items():
    stub(f"sglang.srt.{module}", names)
kernels = [f"{copy}_{how}" for copy in COPIES for how in ("kernel", "triton")]
kernels += ["set_mla_kv_buffer_dcp_sharded_triton", "set_mla_kv_buffer_triton_fp8_quant"]
stub("sglang.kernels.ops.kvcache.mla_buffer", " ".join(kernels))

import sglang.srt.mem_cache.radix_cache  # noqa: E402, F401
