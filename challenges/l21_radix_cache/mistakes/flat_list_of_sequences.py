"""Every inserted key is kept whole, beside the others. What two prompts have in common is then stored twice, and a
prefix cannot outlive its end."""


class RadixCache:
    def _match_prefix_helper(self, node: TreeNode, key: RadixKey) -> tuple[list[torch.Tensor], TreeNode]:
        best, length = node, 0
        for child in node.children.values():
            if child.key.extra_key == key.extra_key and (common := child.key.match(key, self.page_size)) > length:
                best, length = child, common
        best.last_access_time = tick()
        return [best.value[:length]], best

    def _insert_helper(
        self, node: TreeNode, key: RadixKey, value: torch.Tensor, priority: int = 0, inserted_len: int = 0
    ) -> tuple[int, TreeNode]:
        if len(key) == 0:
            return 0, node
        slots, best = self._match_prefix_helper(node, key)
        cached = sum(map(len, slots))
        if cached == len(key):
            return cached, best
        leaf = TreeNode(priority=priority)
        leaf.parent, leaf.key, leaf.value = node, key, torch.cat([*slots, value[cached:]])
        node.children[key.child_key(len(key))] = leaf
        self.evictable_size_ += len(key)
        self._update_leaf_status(leaf)
        return cached, leaf

    def _delete_leaf(self, node: TreeNode) -> None:
        del node.parent.children[node.key.child_key(len(node.key))]
        self.evictable_size_ -= len(node.key)
        self.evictable_leaves.discard(node)
