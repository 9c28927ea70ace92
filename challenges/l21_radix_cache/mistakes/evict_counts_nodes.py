"""`num_tokens` is in tokens. Yours counts nodes, and so frees far more than it was asked to, and says less."""


class RadixCache:
    def evict(self, num_tokens: int) -> int:
        heap = [(self.eviction_strategy.get_priority(leaf), leaf) for leaf in self.evictable_leaves]
        heapq.heapify(heap)
        freed = 0
        while freed < num_tokens and heap:
            _, leaf = heapq.heappop(heap)
            self.token_to_kv_pool_allocator.free(leaf.value)
            freed += 1
            self._delete_leaf(leaf)
            if leaf.parent in self.evictable_leaves:
                heapq.heappush(heap, (self.eviction_strategy.get_priority(leaf.parent), leaf.parent))
        return freed
