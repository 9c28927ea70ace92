"""Asked for a few tokens, eviction empties the whole cache: every hit of the next minute is gone."""


class RadixCache:
    def evict(self, num_tokens: int) -> int:
        heap = [(self.eviction_strategy.get_priority(leaf), leaf) for leaf in self.evictable_leaves]
        heapq.heapify(heap)
        freed = 0
        while heap:
            _, leaf = heapq.heappop(heap)
            self.token_to_kv_pool_allocator.free(leaf.value)
            freed += len(leaf.value)
            self._delete_leaf(leaf)
            if leaf.parent in self.evictable_leaves:
                heapq.heappush(heap, (self.eviction_strategy.get_priority(leaf.parent), leaf.parent))
        return freed
