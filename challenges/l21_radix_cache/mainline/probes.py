"""The scripts of the lab's own probes, on sglang's RadixCache.

Upstream orders by the machine's clock; here it gets a counter, so that order never depends on a timer's resolution.
"""

import sys
from array import array
from types import SimpleNamespace

import probes

from mini_infra.sglang.srt.mem_cache.allocator.token import SlotAllocator
from mini_infra.sglang.srt.mem_cache.base_prefix_cache import InsertResult, MatchResult


class Pool(SlotAllocator):
    """The lab's checked allocator, under the name by which upstream gives slots back."""

    def free_segment(self, value, start_pos):
        self.free(value)


class Clock:
    """A `time` module that counts."""

    def __init__(self):
        self.now = 0

    def monotonic(self):
        self.now += 1
        return self.now

    perf_counter = monotonic


class Upstream:
    """sglang's cache under the calling convention of the lab's."""

    def __init__(self, rows, allocator, page_size, policy):
        from sglang.srt.mem_cache.base_prefix_cache import EvictParams, InsertParams, MatchPrefixParams
        from sglang.srt.mem_cache.cache_init_params import CacheInitParams

        module = sys.modules["sglang.srt.mem_cache.radix_cache"]
        module.time = Clock()
        self.types = SimpleNamespace(evict=EvictParams, insert=InsertParams, match=MatchPrefixParams)
        self.key_type = module.RadixKey
        given = {"req_to_token_pool": rows, "token_to_kv_pool_allocator": allocator, "page_size": page_size}
        self.cache = module.RadixCache(CacheInitParams(disable=False, eviction_policy=policy, **given))
        self.page_size, self.req_to_token_pool, self.token_to_kv_pool_allocator = page_size, rows, allocator

    def key(self, key):
        return self.key_type(array("q", key.token_ids), key.extra_key)

    def insert(self, key, value, priority=0, inserted_len=0):
        given = {"value": value, "priority": priority, "inserted_len": inserted_len}
        result = self.cache.insert(self.types.insert(key=self.key(key), **given))
        return InsertResult(result.prefix_len, result.last_device_node)

    def match_prefix(self, key):
        result = self.cache.match_prefix(self.types.match(key=self.key(key)))
        return MatchResult(result.device_prefix_len, result.last_device_node)

    def evict(self, count):
        return self.cache.evict(self.types.evict(num_tokens=count)).num_tokens_evicted

    def inc_lock_ref(self, node):
        return self.cache.inc_lock_ref(node).delta

    def dec_lock_ref(self, node):
        return self.cache.dec_lock_ref(node).delta

    def checkpoint(self, req, *, up_to):
        """Upstream keeps what this lab's Req keeps in three objects."""
        from sglang.srt.mem_cache.base_prefix_cache import TreeLock

        kept = ("req_pool_idx", "cache_protected_len", "cache_inserted_len")
        kv = SimpleNamespace(swa_evict_floor=0, **{name: getattr(req, name) for name in kept})
        ids = {"full_untruncated_fill_ids": req.token_ids, "origin_input_ids": req.token_ids}
        lock = {"lock": TreeLock(req.last_node, None), "last_node": req.last_node}
        theirs = SimpleNamespace(extra_key=req.extra_key, cache_salt=None, priority=0, kv=kv, **ids, **lock)
        self.cache.checkpoint(theirs, up_to=up_to)
        req.last_node = theirs.last_node
        req.cache_protected_len, req.cache_inserted_len = kv.cache_protected_len, kv.cache_inserted_len

    def __getattr__(self, name):
        return getattr(self.cache, name)  # root_node, evictable_leaves, sizes, path_device_indices


def patch(name, inputs):
    """The probe of that name in probes.py, for each of the inputs."""
    return [getattr(probes, name)(**one) for one in inputs]


def upstream(name, inputs):
    """The same with sglang's cache in the place of the lab's."""
    probes.RadixCache, probes.SlotAllocator = Upstream, Pool
    return patch(name, inputs)
