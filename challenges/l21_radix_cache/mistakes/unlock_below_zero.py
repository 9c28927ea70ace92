"""Someone unlocks twice and nobody hears of it; the next lock then protects nothing."""


class RadixCache:
    def dec_lock_ref(self, node: TreeNode) -> int:
        delta = 0
        while node is not self.root_node:
            node.lock_ref -= 1
            if node.lock_ref <= 0:
                delta += len(node.key)
            self._update_leaf_status(node)
            node = node.parent
        self.evictable_size_ += delta
        self.protected_size_ -= delta
        return delta
