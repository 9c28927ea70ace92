"""Freeing the last child makes the parent a candidate in the same round."""


class RadixCache:
    def evict(self, num_tokens: int) -> int:
        heap = [(self.eviction_strategy.get_priority(leaf), leaf) for leaf in self.evictable_leaves]
        heapq.heapify(heap)
        freed = 0
        while freed < num_tokens and heap:
            _, leaf = heapq.heappop(heap)
            self.token_to_kv_pool_allocator.free(leaf.value)
            freed += len(leaf.value)
            self._delete_leaf(leaf)
        return freed
