"""Getting KV slots, if need be by evicting."""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch

if TYPE_CHECKING:
    from mini_infra.sglang.srt.mem_cache.radix_cache import RadixCache


def alloc_token_slots(tree_cache: RadixCache, num_tokens: int) -> torch.Tensor | None:
    """`num_tokens` slots, int64 `[num_tokens]`. Evicts just what is missing; None when even that is not enough."""
    allocator = tree_cache.token_to_kv_pool_allocator
    missing = num_tokens - allocator.available_size()
    if missing > 0:
        tree_cache.evict(missing)
    return allocator.alloc(num_tokens)
