"""Exactly n tokens are freed, by cutting a leaf in two. A leaf is the unit of eviction: it goes whole."""


class RadixCache:
    def evict(self, num_tokens: int) -> int:
        heap = [(self.eviction_strategy.get_priority(leaf), leaf) for leaf in self.evictable_leaves]
        heapq.heapify(heap)
        freed = 0
        while freed < num_tokens and heap:
            _, leaf = heapq.heappop(heap)
            extra = (freed + len(leaf.value) - num_tokens) // self.page_size * self.page_size
            if 0 < extra < len(leaf.value):
                self._split_node(leaf.key, leaf, extra)
            self.token_to_kv_pool_allocator.free(leaf.value)
            freed += len(leaf.value)
            self._delete_leaf(leaf)
            if leaf.parent in self.evictable_leaves:
                heapq.heappush(heap, (self.eviction_strategy.get_priority(leaf.parent), leaf.parent))
        return freed
