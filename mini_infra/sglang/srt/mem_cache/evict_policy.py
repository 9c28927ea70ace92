"""Eviction strategies: which leaf goes first. The smaller `get_priority(node)`, the earlier the node is evicted."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from mini_infra.sglang.srt.mem_cache.radix_cache import TreeNode


class LRUStrategy:
    """The least recently used goes first."""

    def get_priority(self, node: TreeNode) -> int:
        return node.last_access_time


class LFUStrategy:
    """The node that the fewest inserts went through goes first; among equals the least recently used."""

    def get_priority(self, node: TreeNode) -> tuple[int, int]:
        return (node.hit_count, node.last_access_time)


class FIFOStrategy:
    """The oldest node goes first, however often it was used."""

    def get_priority(self, node: TreeNode) -> int:
        return node.creation_time


class PriorityStrategy:
    """The least important request's node goes first; among equals the least recently used."""

    def get_priority(self, node: TreeNode) -> tuple[int, int]:
        return (node.priority, node.last_access_time)
