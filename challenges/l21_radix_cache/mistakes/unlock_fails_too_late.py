"""The assertion comes, but the count is below zero by then, and the next lock protects nothing."""


class RadixCache:
    def dec_lock_ref(self, node: TreeNode) -> int:
        delta = 0
        while node is not self.root_node:
            node.lock_ref -= 1
            assert node.lock_ref >= 0, f"node {node.id} is unlocked more often than it was locked"
            if node.lock_ref == 0:
                delta += len(node.key)
            self._update_leaf_status(node)
            node = node.parent
        self.evictable_size_ += delta
        self.protected_size_ -= delta
        return delta
