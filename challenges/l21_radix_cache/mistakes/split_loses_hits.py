"""The upper half was passed by every insert that reached the lower one. What should its count be on the day it is
made?"""


class RadixCache:
    def _split_node(self, key: RadixKey, child: TreeNode, split_len: int) -> TreeNode:
        upper = TreeNode(priority=child.priority)
        upper.lock_ref = child.lock_ref
        upper.parent = child.parent
        upper.key, child.key = key[:split_len], key[split_len:]
        upper.value, child.value = child.value[:split_len].clone(), child.value[split_len:].clone()
        upper.parent.children[upper.key.child_key(self.page_size)] = upper
        upper.children[child.key.child_key(self.page_size)] = child
        child.parent = upper
        return upper
