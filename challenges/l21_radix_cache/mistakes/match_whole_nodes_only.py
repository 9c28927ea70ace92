"""A lookup that parts from a node in its middle has still found the first half of it. Your walk stops one node
early."""


class RadixCache:
    def _match_prefix_helper(self, node: TreeNode, key: RadixKey) -> tuple[list[torch.Tensor], TreeNode]:
        now, slots = tick(), []
        while len(key) > 0 and (child := node.children.get(key.child_key(self.page_size))) is not None:
            child.last_access_time = now
            common = child.key.match(key, self.page_size)
            if common < len(child.key):
                break
            slots.append(child.value)
            node, key = child, key[common:]
        return slots, node
