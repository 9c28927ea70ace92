"""A prefix that was looked up a moment ago is evicted as if nobody had touched it."""


class RadixCache:
    def _match_prefix_helper(self, node: TreeNode, key: RadixKey) -> tuple[list[torch.Tensor], TreeNode]:
        slots = []
        while len(key) > 0 and (child := node.children.get(key.child_key(self.page_size))) is not None:
            common = child.key.match(key, self.page_size)
            if common < len(child.key):
                child = self._split_node(child.key, child, common)
            slots.append(child.value)
            node, key = child, key[common:]
        return slots, node
