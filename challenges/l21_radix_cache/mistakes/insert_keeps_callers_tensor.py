"""The leaf holds the caller's tensor: a view of a row that is written again for the next request."""


class RadixCache:
    def _add_leaf(self, parent: TreeNode, key: RadixKey, value: torch.Tensor, priority: int) -> TreeNode:
        leaf = TreeNode(priority=priority)
        leaf.parent, leaf.key, leaf.value = parent, key, value
        parent.children[key.child_key(self.page_size)] = leaf
        self.evictable_size_ += len(key)
        self._update_leaf_status(parent)
        self._update_leaf_status(leaf)
        return leaf
