"""A locked leaf is still offered for eviction: a running request loses its slots."""


class RadixCache:
    def _update_leaf_status(self, node: TreeNode) -> None:
        if node is not self.root_node and not node.children:
            self.evictable_leaves.add(node)
        else:
            self.evictable_leaves.discard(node)
