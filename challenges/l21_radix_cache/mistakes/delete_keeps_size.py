"""What was evicted is still counted as evictable. The scheduler admits requests that do not fit."""


class RadixCache:
    def _delete_leaf(self, node: TreeNode) -> None:
        del node.parent.children[node.key.child_key(self.page_size)]
        self.evictable_leaves.discard(node)
        self._update_leaf_status(node.parent)
