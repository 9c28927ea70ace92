"""The nodes are gone, their slots are not: nobody owns them, and the pool only shrinks."""


class RadixCache:
    def evict(self, num_tokens: int) -> int:
        heap = [(self.eviction_strategy.get_priority(leaf), leaf) for leaf in self.evictable_leaves]
        heapq.heapify(heap)
        freed = 0
        while freed < num_tokens and heap:
            _, leaf = heapq.heappop(heap)
            freed += len(leaf.value)
            self._delete_leaf(leaf)
            if leaf.parent in self.evictable_leaves:
                heapq.heappush(heap, (self.eviction_strategy.get_priority(leaf.parent), leaf.parent))
        return freed
