"""The tree still reaches the old node by the old edge. Which entry of the grandparent names the new node?"""


class RadixCache:
    def _split_node(self, key: RadixKey, child: TreeNode, split_len: int) -> TreeNode:
        upper = TreeNode(priority=child.priority)
        upper.lock_ref = child.lock_ref
        upper.hit_count = child.hit_count
        upper.parent = child.parent
        upper.key, child.key = key[:split_len], key[split_len:]
        upper.value, child.value = child.value[:split_len].clone(), child.value[split_len:].clone()
        upper.children[child.key.child_key(self.page_size)] = child
        child.parent = upper
        return upper
