"""Right answers, but every eviction visits the whole tree to find its leaves. They are at hand in
`evictable_leaves`."""


class RadixCache:
    def evict(self, num_tokens: int) -> int:
        nodes = [self.root_node]
        for node in nodes:
            nodes.extend(node.children.values())
        leaves = [node for node in nodes if node in self.evictable_leaves]
        heap = [(self.eviction_strategy.get_priority(leaf), leaf) for leaf in leaves]
        heapq.heapify(heap)
        freed = 0
        while freed < num_tokens and heap:
            _, leaf = heapq.heappop(heap)
            self.token_to_kv_pool_allocator.free(leaf.value)
            freed += len(leaf.value)
            self._delete_leaf(leaf)
            if leaf.parent in self.evictable_leaves:
                heapq.heappush(heap, (self.eviction_strategy.get_priority(leaf.parent), leaf.parent))
        return freed
