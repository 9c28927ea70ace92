"""A prefix that was inserted again a moment ago is evicted as if nobody had touched it."""


class RadixCache:
    def _insert_helper(
        self, node: TreeNode, key: RadixKey, value: torch.Tensor, priority: int = 0, inserted_len: int = 0
    ) -> tuple[int, TreeNode]:
        cached = 0
        while len(key) > 0 and (child := node.children.get(key.child_key(self.page_size))) is not None:
            common = child.key.match(key, self.page_size)
            if common < len(child.key):
                child = self._split_node(child.key, child, common)
            child.priority = max(child.priority, priority)
            cached += common
            child.hit_count += cached > inserted_len
            node, key, value = child, key[common:], value[common:]
        if len(key) > 0:
            node = self._add_leaf(node, key, value, priority)
            node.hit_count += cached + len(key) > inserted_len
        return cached, node
