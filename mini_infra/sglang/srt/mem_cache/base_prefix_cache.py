"""What a prefix cache answers."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from mini_infra.sglang.srt.mem_cache.radix_cache import TreeNode


class MatchResult(NamedTuple):
    """Answer of `RadixCache.match_prefix`."""

    device_prefix_len: int  # tokens of the key whose KV is cached, a multiple of the page size
    last_device_node: TreeNode  # the node where that prefix ends; the root when nothing matched


class InsertResult(NamedTuple):
    """Answer of `RadixCache.insert`."""

    prefix_len: int  # tokens of the key that were cached before this call
    last_device_node: TreeNode  # the node where the whole page-aligned key ends
