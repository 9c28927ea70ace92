"""Right answers, but two nodes keep one storage alive: freeing one returns no memory."""


class RadixCache:
    def _split_node(self, key: RadixKey, child: TreeNode, split_len: int) -> TreeNode:
        upper = TreeNode(priority=child.priority)
        upper.lock_ref = child.lock_ref
        upper.hit_count = child.hit_count
        upper.parent = child.parent
        upper.key, child.key = key[:split_len], key[split_len:]
        upper.value, child.value = child.value[:split_len], child.value[split_len:]
        upper.parent.children[upper.key.child_key(self.page_size)] = upper
        upper.children[child.key.child_key(self.page_size)] = child
        child.parent = upper
        return upper
