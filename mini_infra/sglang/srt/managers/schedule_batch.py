"""The life of a request as the prefix cache sees it: admitted, grown, finished or aborted.

At any time `row[:cache_protected_len]` of a running request are the tree's slots, locked for it at `last_node`, and
`row[cache_protected_len:len(token_ids)]` are its own. `RadixCache.checkpoint` moves that border.
"""

from __future__ import annotations

from array import array
from dataclasses import dataclass

from mini_infra.sglang.srt.mem_cache.allocation import alloc_token_slots
from mini_infra.sglang.srt.mem_cache.radix_cache import RadixCache, RadixKey, TreeNode


@dataclass(eq=False)
class Req:
    """A request; it runs while it has a row."""

    req_pool_idx: int | None  # its row in ReqToTokenPool; None while it does not run
    token_ids: array[int]  # prompt and output so far; while it runs the row has a slot for each
    extra_key: str | None = None  # namespace: LoRA adapter, tenant
    last_node: TreeNode | None = None  # where its lock is
    cache_protected_len: int = 0  # tokens at the start of the row whose slots the tree owns
    cache_inserted_len: int = 0  # tokens that this request itself has inserted into the tree


def admit(req: Req, tree_cache: RadixCache) -> bool:
    """Start a request: reuse the cached prefix, get slots for the other tokens. False (nothing taken) without room.

    At least the last token is computed anew: its output is what the request is about.
    """
    key = RadixKey(req.token_ids[:-1], req.extra_key)
    cached, node = tree_cache.match_prefix(key)
    tree_cache.inc_lock_ref(node)  # before anything can evict
    row = tree_cache.req_to_token_pool.alloc()
    slots = None if row is None else alloc_token_slots(tree_cache, len(req.token_ids) - cached)
    if slots is None:
        tree_cache.dec_lock_ref(node)
        if row is not None:
            tree_cache.req_to_token_pool.free(row)
        return False
    tree_cache.req_to_token_pool.write((row, slice(0, cached)), tree_cache.path_device_indices(node))
    tree_cache.req_to_token_pool.write((row, slice(cached, len(req.token_ids))), slots)
    req.req_pool_idx, req.last_node, req.cache_protected_len, req.cache_inserted_len = row, node, cached, 0
    return True


def append_tokens(req: Req, token_ids: array[int], tree_cache: RadixCache) -> bool:
    """Decode: add tokens with slots of the request's own. False (nothing taken) without room."""
    slots = alloc_token_slots(tree_cache, len(token_ids))
    if slots is None:
        return False
    start = len(req.token_ids)
    tree_cache.req_to_token_pool.write((req.req_pool_idx, slice(start, start + len(token_ids))), slots)
    req.token_ids = req.token_ids + token_ids
    return True


def cache_finished_req(req: Req, tree_cache: RadixCache) -> None:
    """The request is done: the tree keeps its whole pages, the rest is freed."""
    tree_cache.checkpoint(req, up_to=len(req.token_ids))
    abort(req, tree_cache)


def abort(req: Req, tree_cache: RadixCache) -> None:
    """The client is gone: free the request's own slots, unlock what the tree keeps, give the row back."""
    row = tree_cache.req_to_token_pool.req_to_token[req.req_pool_idx]
    tree_cache.token_to_kv_pool_allocator.free(row[req.cache_protected_len : len(req.token_ids)])
    tree_cache.dec_lock_ref(req.last_node)
    tree_cache.req_to_token_pool.free(req.req_pool_idx)
    req.req_pool_idx = req.last_node = None
