"""Two requests on one prefix protect it once. Sizes change when the first one comes and when the last one goes."""


class RadixCache:
    def inc_lock_ref(self, node: TreeNode) -> int:
        delta = 0
        while node is not self.root_node:
            delta -= len(node.key)
            node.lock_ref += 1
            self._update_leaf_status(node)
            node = node.parent
        self.evictable_size_ += delta
        self.protected_size_ -= delta
        return delta

    def dec_lock_ref(self, node: TreeNode) -> int:
        delta = 0
        while node is not self.root_node:
            assert node.lock_ref > 0, f"node {node.id} is unlocked more often than it was locked"
            node.lock_ref -= 1
            delta += len(node.key)
            self._update_leaf_status(node)
            node = node.parent
        self.evictable_size_ += delta
        self.protected_size_ -= delta
        return delta
