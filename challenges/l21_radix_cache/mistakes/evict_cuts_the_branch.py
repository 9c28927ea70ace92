"""Once a leaf is gone, its parents go too, although enough was freed. The next request needs just those shared
prefixes."""


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
            while leaf.parent in self.evictable_leaves:
                leaf = leaf.parent
                heap = [entry for entry in heap if entry[1] is not leaf]
                self.token_to_kv_pool_allocator.free(leaf.value)
                freed += len(leaf.value)
                self._delete_leaf(leaf)
            heapq.heapify(heap)
        return freed
