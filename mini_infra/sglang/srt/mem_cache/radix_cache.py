"""Prefix reuse: a radix tree from token prefixes to the KV slots that hold them.

The KV of a token depends on all tokens before it, so two requests may share KV exactly as far as their tokens agree
from the start on. The tree stores each shared prefix once. An edge carries a run of tokens, not one token: a node's
`key` holds the tokens between its parent and itself, `value` their slots. All lengths are multiples of `page_size`
tokens, and a parent finds a child by the child's first page.

                    root                              root
                     |                                 |
            [1 2 3 4 5 6]      match [1 2 3 9]        [1 2 3]         a node never ends inside a lookup:
                               ------------->          |              it is split where the lookup parts from it
                                                      [4 5 6]

A running request locks the node where its prefix ends; nothing on the way from the root to a locked node is evicted.
"""

from __future__ import annotations

import heapq
import sys
from array import array
from collections.abc import Hashable, Iterator
from typing import TYPE_CHECKING

import torch

from mini_infra.sglang.srt.mem_cache.base_prefix_cache import InsertResult, MatchResult
from mini_infra.sglang.srt.mem_cache.clock import tick
from mini_infra.sglang.srt.mem_cache.utils import get_eviction_strategy

if TYPE_CHECKING:
    from mini_infra.sglang.srt.managers.schedule_batch import Req
    from mini_infra.sglang.srt.mem_cache.allocator.token import SlotAllocator
    from mini_infra.sglang.srt.mem_cache.memory_pool import ReqToTokenPool


class RadixKey:
    """A run of token ids inside a namespace.

    Args:
        token_ids: `array("q")`. Comparing or slicing one is a single C loop; a Python loop over it is slow.
        extra_key: the namespace (LoRA adapter, tenant). Keys of different namespaces never share KV.
    """

    __slots__ = ("extra_key", "token_ids")

    def __init__(self, token_ids: array[int], extra_key: str | None = None):
        self.token_ids = token_ids
        self.extra_key = extra_key

    def __len__(self) -> int:
        return len(self.token_ids)

    def __iter__(self) -> Iterator[int]:
        return iter(self.token_ids)

    def __getitem__(self, idx: slice) -> RadixKey:
        """A slice, a copy in the same namespace."""
        return RadixKey(self.token_ids[idx], self.extra_key)

    def __repr__(self) -> str:
        tokens = " ".join(str(token) for token in self.token_ids[:10])
        return f"RadixKey({self.extra_key!r}, {len(self)} tokens: {tokens}{' …' if len(self) > 10 else ''})"

    def page_aligned(self, page_size: int) -> RadixKey:
        """The whole pages of this key, without the partial page at its end."""
        return self[: len(self) // page_size * page_size]

    def match(self, other: RadixKey, page_size: int = 1) -> int:
        """How many tokens both keys start with, rounded down to whole pages.

        O(log n) comparisons of slices for keys of n tokens; no Python loop over tokens.
        ValueError if the namespaces (`extra_key`) differ.
        """
        if self.extra_key != other.extra_key:
            raise ValueError(f"keys of different namespaces do not compare: {self.extra_key!r}, {other.extra_key!r}")
        mine, theirs = self.token_ids, other.token_ids
        # All tokens below `low` agree, and fewer than `high` do: bisect, comparing only what is still open.
        low, high = 0, min(len(mine), len(theirs)) + 1
        while high - low > 1:
            middle = (low + high) // 2
            if mine[low:middle] == theirs[low:middle]:
                low = middle
            else:
                high = middle
        return low // page_size * page_size

    def child_key(self, page_size: int = 1) -> Hashable:
        """Under which name a parent keeps the child whose key this is: the first page, in its namespace."""
        return (self.extra_key, tuple(self.token_ids[:page_size]))


class TreeNode:
    """One edge of the tree together with the node at its lower end."""

    counter = 0

    def __init__(self, priority: int = 0):
        self.children: dict[Hashable, TreeNode] = {}  # child.key.child_key(page_size) -> child
        self.parent: TreeNode | None = None
        self.key: RadixKey | None = None  # the tokens between parent and here
        self.value: torch.Tensor | None = None  # their slots, int64 [len(key)]
        self.lock_ref = 0  # running requests at this node or below it
        self.last_access_time = self.creation_time = tick()
        self.hit_count = 0  # inserts that went through this node
        self.priority = priority  # the greatest of the requests that inserted through this node
        self.id = TreeNode.counter
        TreeNode.counter += 1

    def __lt__(self, other: TreeNode) -> bool:
        return self.last_access_time < other.last_access_time


class RadixCache:
    """The prefix cache of one server.

    Sizes are in tokens: `evictable_size_` counts the tokens of unlocked nodes, `protected_size_` those of locked ones.
    The tree owns the slots in its nodes: it alone frees them, by `token_to_kv_pool_allocator.free(slots)`.
    """

    def __init__(
        self,
        req_to_token_pool: ReqToTokenPool | None,
        token_to_kv_pool_allocator: SlotAllocator,
        page_size: int = 1,
        eviction_policy: str = "lru",
    ):
        self.req_to_token_pool = req_to_token_pool
        self.token_to_kv_pool_allocator = token_to_kv_pool_allocator
        self.page_size = page_size
        self.eviction_strategy = get_eviction_strategy(eviction_policy)
        self.reset()

    def reset(self) -> None:
        """Forget everything. The slots in the old tree are not freed."""
        self.root_node = TreeNode(priority=-sys.maxsize)
        self.root_node.key = RadixKey(array("q"))
        self.root_node.value = torch.empty(0, dtype=torch.int64)
        self.evictable_size_ = 0
        self.protected_size_ = 0
        self.evictable_leaves: set[TreeNode] = set()

    def match_prefix(self, key: RadixKey) -> MatchResult:
        """The longest cached prefix of `key`'s whole pages; an empty one ends at the root. May split a node.

        It locks nothing: the next eviction may free what was found, unless the caller locks `last_device_node` first.
        """
        key = key.page_aligned(self.page_size)
        if len(key) == 0:
            return MatchResult(0, self.root_node)
        slots, node = self._match_prefix_helper(self.root_node, key)
        return MatchResult(sum(len(part) for part in slots), node)

    def insert(self, key: RadixKey, value: torch.Tensor, priority: int = 0, inserted_len: int = 0) -> InsertResult:
        """Give the slots `value` (int64 `[len(key)]`) of `key`'s whole pages to the tree.

        The first `prefix_len` of them stay the caller's: the tree has slots of its own for these tokens.
        `inserted_len`: tokens at the start of `key` that the same request has inserted before; they count no hit.
        """
        key = key.page_aligned(self.page_size)
        return InsertResult(*self._insert_helper(self.root_node, key, value[: len(key)], priority, inserted_len))

    def path_device_indices(self, node: TreeNode) -> torch.Tensor:
        """The slots from the root down to `node`: int64 `[tokens]`. Valid until an eviction, unless locked."""
        values = []
        while node is not self.root_node:
            values.append(node.value)
            node = node.parent
        return torch.cat(values[::-1]) if values else self.root_node.value

    def evictable_size(self) -> int:
        """Tokens that eviction could free."""
        return self.evictable_size_

    def protected_size(self) -> int:
        """Tokens on the way from the root to some locked node."""
        return self.protected_size_

    def total_size(self) -> int:
        """Tokens in the tree, by walking it."""
        total, stack = 0, [self.root_node]
        while stack:
            node = stack.pop()
            total += len(node.value)
            stack.extend(node.children.values())
        return total

    def checkpoint(self, req: Req, *, up_to: int) -> None:
        """Give the first `up_to` tokens of a running request to the tree; the request goes on with the tree's slots.

        Before: `row[:req.cache_protected_len]` are the tree's slots, locked at `req.last_node`; the rest of the row is
        the request's own. `up_to >= req.cache_protected_len`.
        After: the same with the `up_to` tokens' whole pages in the tree, and the lock where they end. Slots of the
        request for tokens that the tree had already are free. A partial page at the end stays the request's own.
        Each node counts a request once: insert with `req.cache_inserted_len`, then raise it to what is inserted now.
        """
        key = RadixKey(req.token_ids[:up_to], req.extra_key).page_aligned(self.page_size)
        row = self.req_to_token_pool.req_to_token[req.req_pool_idx, : len(key)]  # a view
        cached = self.insert(key, row, inserted_len=req.cache_inserted_len).prefix_len
        req.cache_inserted_len = len(key)
        self.token_to_kv_pool_allocator.free(row[req.cache_protected_len : cached])

        node = self.match_prefix(key).last_device_node
        self.req_to_token_pool.write((req.req_pool_idx, slice(0, len(key))), self.path_device_indices(node))
        self.inc_lock_ref(node)
        self.dec_lock_ref(req.last_node)
        req.last_node = node
        req.cache_protected_len = len(key)

    def evict(self, num_tokens: int) -> int:
        """Free unlocked leaves, whole ones, until at least `num_tokens` tokens are freed or no such leaf is left.

        The leaf with the smallest `eviction_strategy.get_priority(node)` goes first; a parent that has become an
        unlocked leaf takes part at once. Returns the tokens freed. Calls `get_priority` at most once a leaf, and once
        for each parent that joins.
        """
        heap = [(self.eviction_strategy.get_priority(leaf), leaf) for leaf in self.evictable_leaves]
        heapq.heapify(heap)
        freed = 0
        while freed < num_tokens and heap:
            _, leaf = heapq.heappop(heap)
            self.token_to_kv_pool_allocator.free(leaf.value)
            freed += len(leaf.value)
            self._delete_leaf(leaf)
            if leaf.parent in self.evictable_leaves:
                heapq.heappush(heap, (self.eviction_strategy.get_priority(leaf.parent), leaf.parent))
        return freed

    def inc_lock_ref(self, node: TreeNode) -> int:
        """Lock the prefix that ends at `node`: one more request is at, or below, each node of its path.

        The root is not counted. Keeps both sizes and `evictable_leaves` true. Returns the change of `evictable_size_`
        (0 or less).
        """
        delta = 0
        while node is not self.root_node:
            if node.lock_ref == 0:
                delta -= len(node.key)
            node.lock_ref += 1
            self._update_leaf_status(node)
            node = node.parent
        self.evictable_size_ += delta
        self.protected_size_ -= delta
        return delta

    def dec_lock_ref(self, node: TreeNode) -> int:
        """Undo one `inc_lock_ref(node)`. Returns the change of `evictable_size_` (0 or more).

        AssertionError naming `node.id`, and nothing changed, if `node` is not locked.
        """
        delta = 0
        while node is not self.root_node:
            assert node.lock_ref > 0, f"node {node.id} is unlocked more often than it was locked"
            node.lock_ref -= 1
            if node.lock_ref == 0:
                delta += len(node.key)
            self._update_leaf_status(node)
            node = node.parent
        self.evictable_size_ += delta
        self.protected_size_ -= delta
        return delta

    def _match_prefix_helper(self, node: TreeNode, key: RadixKey) -> tuple[list[torch.Tensor], TreeNode]:
        """Walk from `node` down along `key` (whole pages, not empty) as far as the tree agrees with it.

        Returns the slots of the nodes on the way (their `value`s, `node`'s own not included) and the last node. If the
        agreement ends inside a node, that node is split there. Every node on the way gets the time of this call, one
        `tick()`, the lower half of a split included (the root needs none); what a split makes is younger still.
        """
        now, slots = tick(), []
        while len(key) > 0 and (child := node.children.get(key.child_key(self.page_size))) is not None:
            child.last_access_time = now
            common = child.key.match(key, self.page_size)
            if common < len(child.key):
                child = self._split_node(child.key, child, common)
            slots.append(child.value)
            node, key = child, key[common:]
        return slots, node

    def _split_node(self, key: RadixKey, child: TreeNode, split_len: int) -> TreeNode:
        """Cut `child`, whose key is `key`, after its first `split_len` tokens (whole pages, 0 < split_len < len(key)).

        `child` stays the lower half, so whoever holds it still holds the whole prefix. Returns the upper half: a new
        node between `child` and its old parent, with `child`'s `lock_ref`, `priority` and `hit_count`. The `value`s of
        both halves have storages of their own. Sizes and `evictable_leaves` do not change.
        """
        upper = TreeNode(priority=child.priority)
        upper.lock_ref = child.lock_ref
        upper.hit_count = child.hit_count
        upper.parent = child.parent
        upper.key, child.key = key[:split_len], key[split_len:]
        upper.value, child.value = child.value[:split_len].clone(), child.value[split_len:].clone()
        upper.parent.children[upper.key.child_key(self.page_size)] = upper
        upper.children[child.key.child_key(self.page_size)] = child
        child.parent = upper
        return upper

    def _insert_helper(
        self, node: TreeNode, key: RadixKey, value: torch.Tensor, priority: int = 0, inserted_len: int = 0
    ) -> tuple[int, TreeNode]:
        """Put `key` (whole pages, may be empty) with its slots `value` (int64 `[len(key)]`) below `node`.

        Returns how many tokens were there already, and the node where `key` ends. Slots of the part that was there stay
        as they are; the rest becomes one new leaf with a copy of its slots. Times as in `_match_prefix_helper`. Nodes
        on the way get at least this `priority`. Each node of the way that ends beyond `inserted_len` counts one hit,
        the new leaf too.
        """
        now, cached = tick(), 0
        while len(key) > 0 and (child := node.children.get(key.child_key(self.page_size))) is not None:
            child.last_access_time = now
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

    def _add_leaf(self, parent: TreeNode, key: RadixKey, value: torch.Tensor, priority: int) -> TreeNode:
        """A new unlocked leaf under `parent` that owns a copy of the slots."""
        leaf = TreeNode(priority=priority)
        leaf.parent, leaf.key, leaf.value = parent, key, value.clone()
        parent.children[key.child_key(self.page_size)] = leaf
        self.evictable_size_ += len(key)
        self._update_leaf_status(parent)
        self._update_leaf_status(leaf)
        return leaf

    def _delete_leaf(self, node: TreeNode) -> None:
        """Take an unlocked leaf out of the tree, its tokens out of `evictable_size_`, it out of `evictable_leaves`.

        Its parent may be a leaf now. The slots are the caller's to free.
        """
        del node.parent.children[node.key.child_key(self.page_size)]
        self.evictable_size_ -= len(node.key)
        self.evictable_leaves.discard(node)
        self._update_leaf_status(node.parent)

    def _update_leaf_status(self, node: TreeNode) -> None:
        """Put `node` into `evictable_leaves`, or take it out.

        The set holds exactly the nodes that are unlocked, are not the root and have no children.
        """
        if node is not self.root_node and node.lock_ref == 0 and not node.children:
            self.evictable_leaves.add(node)
        else:
            self.evictable_leaves.discard(node)
