"""A prefix is in use when anything below it is. Your lock stops at the node itself."""


class RadixCache:
    def inc_lock_ref(self, node: TreeNode) -> int:
        delta = 0
        if node is not self.root_node:
            if node.lock_ref == 0:
                delta -= len(node.key)
            node.lock_ref += 1
            self._update_leaf_status(node)
            node = node.parent
        self.evictable_size_ += delta
        self.protected_size_ -= delta
        return delta

    def dec_lock_ref(self, node: TreeNode) -> int:
        delta = 0
        if node is not self.root_node:
            assert node.lock_ref > 0, f"node {node.id} is unlocked more often than it was locked"
            node.lock_ref -= 1
            if node.lock_ref == 0:
                delta += len(node.key)
            self._update_leaf_status(node)
            node = node.parent
        self.evictable_size_ += delta
        self.protected_size_ -= delta
        return delta
