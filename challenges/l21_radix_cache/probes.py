"""What the tests ask of the prefix cache. A script is a list of operations; a key is a text, one token a character.

Answers that have one list a step travel as *columns*: all lists one after the other in one int64 tensor, and how long
each of them is in another (`NAME_counts`).
"""

from array import array

import torch

from mini_infra.sglang.srt.managers.schedule_batch import Req, abort, admit, append_tokens, cache_finished_req
from mini_infra.sglang.srt.mem_cache._slow_match import slow_match
from mini_infra.sglang.srt.mem_cache.allocator.token import SlotAllocator
from mini_infra.sglang.srt.mem_cache.memory_pool import ReqToTokenPool
from mini_infra.sglang.srt.mem_cache.radix_cache import RadixCache, RadixKey, TreeNode

HASH_PRIME = (1 << 61) - 1


def radix_key(text, extra_key=None):
    return RadixKey(array("q", map(ord, text)), extra_key)


class Columns:
    """Named lists of integers, one a step."""

    def __init__(self, *names):
        self.flat = {name: [] for name in names}
        self.counts = {name: [] for name in names}

    def add(self, name, numbers):
        numbers = numbers.tolist() if isinstance(numbers, torch.Tensor) else list(numbers)
        self.flat[name] += numbers
        self.counts[name].append(len(numbers))

    def pack(self):
        flat = {name: torch.tensor(numbers, dtype=torch.int64) for name, numbers in self.flat.items()}
        counts = {f"{name}_counts": torch.tensor(numbers, dtype=torch.int64) for name, numbers in self.counts.items()}
        return flat | counts


def walk(cache):
    """All nodes below the root, parents first. A tree that bites its own tail is cut off, and so shows."""
    nodes, stack = [], list(cache.root_node.children.values())
    while stack and len(nodes) < 100_000:
        node = stack.pop()
        nodes.append(node)
        stack.extend(node.children.values())
    return nodes


def describe(cache, nodes):
    """Seven numbers a node: parent (index in `nodes`, -1 for the root, -2 for a node that is not there), tokens, slots,
    children, locks, hits, and 1 if it is among the evictable leaves."""
    index = {node: number for number, node in enumerate(nodes)} | {cache.root_node: -1}
    rows = []
    for node in nodes:
        rows += [index.get(node.parent, -2), len(node.key), len(node.value), len(node.children)]
        rows += [node.lock_ref, node.hit_count, int(node in cache.evictable_leaves)]
    return rows


def last_slots(nodes):
    return sorted(node.value.tolist()[-1] for node in nodes)


# ---- scripts of single operations ---------------------------------------------------------------------------------


class Script:
    """A cache, and what its operations need. Handles of locks are numbered in the order of the lock operations."""

    def __init__(self, page_size, policy, pool):
        self.allocator = SlotAllocator(pool)
        self.cache = RadixCache(None, self.allocator, page_size, policy)
        self.handles = []

    def insert(self, key, extra_key=None, priority=0, inserted_len=0):
        """Insert freshly computed slots for the whole key; the caller keeps no duplicate and no partial page."""
        value = self.allocator.alloc(len(key))
        cached, node = self.cache.insert(radix_key(key, extra_key), value, priority, inserted_len)
        whole = len(key) // self.cache.page_size * self.cache.page_size
        self.allocator.free(torch.cat([value[:cached], value[whole:]]))
        return cached, self.cache.path_device_indices(node)

    def match(self, key, extra_key=None):
        length, node = self.cache.match_prefix(radix_key(key, extra_key))
        return length, self.cache.path_device_indices(node)

    def lock(self, key, extra_key=None):
        node = self.cache.match_prefix(radix_key(key, extra_key)).last_device_node
        self.handles.append(node)
        return self.cache.inc_lock_ref(node), self.cache.path_device_indices(node)

    def unlock(self, handle):
        node = self.handles[handle]
        return self.cache.dec_lock_ref(node), self.cache.path_device_indices(node)

    def evict(self, n):
        before = len(self.allocator.freed)
        length = self.cache.evict(n)
        return length, self.allocator.freed[before:]

    def step(self, op, **arguments):
        """One operation: (what it returned, slots)."""
        length, slots = getattr(self, op)(**arguments)
        if type(length) is not int:
            raise TypeError(f"{op} returned {length!r}, not a number of tokens")
        return length, slots


def probe_ops(ops, page_size, policy, pool, audit=1):
    """Run a script. An operation is {"op": "insert" | "match" | "lock" | "unlock" | "evict", …arguments of Script}.

    Columns: `len` is what the operation returned (tokens); `slots` the slots of the path it reached, of an eviction the
    freed slots in order; `sizes` evictable and protected. After each `audit`-th step also `total` (tokens in the tree,
    counted), `leaves` (the last slot of each evictable leaf, sorted) and `nodes` (see `describe`). `errors`: failed
    assertions as {"step", "message", "node"}; such a step returned -1.
    """
    script = Script(page_size, policy, pool)
    columns, errors = Columns("len", "slots", "sizes", "total", "leaves", "nodes"), []
    for step, op in enumerate(ops):
        try:
            length, slots = script.step(**op)
        except AssertionError as error:
            if op["op"] != "unlock":
                raise
            errors.append({"step": step, "message": str(error), "node": script.handles[op["handle"]].id})
            length, slots = -1, []
        cache = script.cache
        columns.add("len", [length])
        columns.add("slots", slots)
        columns.add("sizes", [cache.evictable_size(), cache.protected_size()])
        if step % audit == 0:
            nodes = walk(cache)
            columns.add("total", [sum(len(node.value) for node in nodes)])
            columns.add("leaves", last_slots(cache.evictable_leaves))
            columns.add("nodes", describe(cache, nodes))
    return {**columns.pack(), "errors": errors}


def probe_key_match(pairs, page_size):
    """`RadixKey.match` of pairs of texts: int64 [pairs]."""
    lengths = [radix_key(a).match(radix_key(b), page_size) for a, b in pairs]
    return torch.tensor(lengths, dtype=torch.int64)


def probe_keys(key, extra_key, page_size):
    """What is given about keys: alignment, names of children, what the empty key finds. (None of it is a hole.)"""
    cache = RadixCache(None, SlotAllocator(0), page_size)
    empty, short = cache.match_prefix(radix_key("")), cache.match_prefix(radix_key(key[: page_size - 1]))
    whole = radix_key(key, extra_key).page_aligned(page_size)
    pages = [whole[start : start + page_size] for start in range(0, len(whole), page_size)]
    return {
        "aligned": len(whole),
        "found": [empty.device_prefix_len, short.device_prefix_len],
        "at_root": [result.last_device_node is cache.root_node for result in (empty, short)],
        "names": len({page.child_key(page_size) for page in pages}),
        "other_namespace": radix_key(key).child_key(page_size) == whole.child_key(page_size),
    }


def probe_namespace_error():
    """`match` of keys of two namespaces; raises what it raises."""
    return radix_key("ab", "tenant 1").match(radix_key("ab", "tenant 2"))


# ---- storage ------------------------------------------------------------------------------------------------------


def storages(cache):
    """Where each node's slots lie: distinct storages, and tokens and bytes of each node, parents first."""
    values = [node.value for node in walk(cache)]
    return {
        "ptrs": torch.tensor([value.untyped_storage().data_ptr() for value in values], dtype=torch.int64),
        "nbytes": torch.tensor([value.untyped_storage().nbytes() for value in values], dtype=torch.int64),
        "tokens": torch.tensor([len(value) for value in values], dtype=torch.int64),
        "dtypes": sorted({str(value.dtype) for value in values}),
    }


def probe_storage(script, keep, evict):
    """Run the script's inserts and matches, lock `keep`, evict `evict` tokens; storages before and after."""
    run = Script(1, "lru", 256)
    for op in script:
        run.step(**op)
    run.lock(keep)
    before = storages(run.cache)
    freed = run.evict(evict)[1]
    slots = run.match(keep)[1]
    return {"before": before, "after": storages(run.cache), "slots": slots, "freed": torch.tensor(freed)}


def probe_caller_mutates(key, value, scribble):
    """Insert `value` (int64 [len(key)]), write `scribble` over it, look the key up: the slots found."""
    cache = RadixCache(None, SlotAllocator(256))
    cache.insert(radix_key(key), value)
    value.copy_(scribble)
    return cache.path_device_indices(cache.match_prefix(radix_key(key)).last_device_node)


# ---- whole requests -----------------------------------------------------------------------------------------------


def prefix_hashes(req):
    """What a forward pass would write: for each token a number that depends on it and on everything before it."""
    hashes, state = [], sum(map(ord, req.extra_key or ""))
    for token in req.token_ids:
        state = (state * 1_000_003 + token + 1) % HASH_PRIME
        hashes.append(state)
    return torch.tensor(hashes, dtype=torch.int64)


class Server:
    """Requests by number over one cache. An operation on a request that does not run (any more) does nothing."""

    def __init__(self, page_size, pool, rows, max_len, policy):
        self.allocator = SlotAllocator(pool)
        self.rows = ReqToTokenPool(rows, max_len)
        self.cache = RadixCache(self.rows, self.allocator, page_size, policy)
        self.running = {}

    def row(self, req):
        return self.rows.req_to_token[req.req_pool_idx, : len(req.token_ids)]

    def compute(self, req, start):
        """The forward pass: KV of the tokens from `start` on."""
        self.allocator.write(self.row(req)[start:], prefix_hashes(req)[start:])

    def start(self, req, tokens, extra_key=None):
        new = Req(None, array("q", map(ord, tokens)), extra_key)
        if started := admit(new, self.cache):
            self.running[req] = new
            self.compute(new, new.cache_protected_len)
        return started

    def append(self, req, tokens):
        start = len(req.token_ids)
        if grown := append_tokens(req, array("q", map(ord, tokens)), self.cache):
            self.compute(req, start)
        return grown

    def checkpoint(self, req, up_to):
        """`up_to` is kept between what the tree has and what there is."""
        self.cache.checkpoint(req, up_to=max(req.cache_protected_len, min(up_to, len(req.token_ids))))
        return True

    def finish(self, req):
        cache_finished_req(req, self.cache)
        return True

    def abort(self, req):
        abort(req, self.cache)
        return True

    def step(self, op, req=None, **arguments):
        """One operation; its result as an int."""
        if op == "evict":
            return self.cache.evict(arguments["n"])
        if op == "start":
            return int(self.start(req, **arguments))
        if req not in self.running:
            return 0
        running = self.running.pop(req) if op in ("finish", "abort") else self.running[req]
        return int(getattr(self, op)(running, **arguments))


def probe_requests(script, page_size, pool, rows=8, max_len=64, policy="lru"):
    """Run a script of requests: {"op": "start" | "append" | "checkpoint" | "finish" | "abort" | "evict", …}.

    Columns: `result` of the step; `running` req, tokens and tree-owned tokens of each running request, three numbers a
    request; `rows` their slots in the same order; `kv` what stands in these slots; `tree` the slots in the
    tree; `free` the free list; `sizes` evictable and protected; `nodes` (see `describe`).
    """
    server = Server(page_size, pool, rows, max_len, policy)
    columns = Columns("result", "running", "rows", "kv", "tree", "free", "sizes", "nodes")
    for op in script:
        columns.add("result", [server.step(**op)])
        nodes = walk(server.cache)
        slots = [server.row(req) for req in server.running.values()] or [torch.empty(0, dtype=torch.int64)]
        running = [[number, len(req.token_ids), req.cache_protected_len] for number, req in server.running.items()]
        columns.add("running", [number for triple in running for number in triple])
        columns.add("rows", torch.cat(slots))
        columns.add("kv", server.allocator.kv[torch.cat(slots)])
        columns.add("tree", [slot for node in nodes for slot in node.value.tolist()])
        columns.add("free", server.allocator.free_slots())
        columns.add("sizes", [server.cache.evictable_size(), server.cache.protected_size()])
        columns.add("nodes", describe(server.cache, nodes))
    return columns.pack()


# ---- cost ---------------------------------------------------------------------------------------------------------


class CountingStrategy:
    """The cache's own strategy, counting how often it is asked."""

    def __init__(self, strategy):
        self.strategy, self.calls = strategy, 0

    def get_priority(self, node):
        self.calls += 1
        return self.strategy.get_priority(node)


class CountedChildren:
    """Counts each look at a node's children, while `counting`."""

    def __init__(self):
        self.counting, self.looks = False, 0

    def __get__(self, node, owner):
        self.looks += self.counting
        return node.__dict__["children"]

    def __set__(self, node, children):
        node.__dict__["children"] = children


def probe_scale(key, tails, rounds):
    """One long `key` (int64 [tokens]) and `tails` short keys; all short keys but four are locked. Then `rounds` times
    evict(1).

    Returns the nodes of the tree, the tokens in it, the leaves before, and for each round what it freed, how often it
    asked for a priority, how often it looked at any node's children.
    """
    counter = CountedChildren()
    TreeNode.children = counter
    cache = RadixCache(None, SlotAllocator(1 << 17))
    strategy = cache.eviction_strategy = CountingStrategy(cache.eviction_strategy)
    alloc, tokens = cache.token_to_kv_pool_allocator.alloc, key.tolist()
    cache.insert(RadixKey(array("q", tokens)), alloc(len(tokens)))
    cache.inc_lock_ref(cache.match_prefix(RadixKey(array("q", tokens))).last_device_node)
    for number in range(tails):
        node = cache.insert(RadixKey(array("q", [-1 - number // 64, number])), alloc(2)).last_device_node
        if number >= 4 * 64 or number % 64:
            cache.inc_lock_ref(node)
    nodes, leaves, rows = walk(cache), len(cache.evictable_leaves), []
    for _ in range(rounds):
        strategy.calls, counter.looks, counter.counting = 0, 0, True
        freed = cache.evict(1)
        counter.counting = False
        rows.append([freed, strategy.calls, counter.looks])
    return {"nodes": len(nodes), "tokens": sum(len(node.value) for node in nodes), "leaves": leaves, "rounds": rows}


def probe_match_speed(tokens, repeats, slow=False, lab_scalar=0.0):
    """`repeats` comparisons of two keys of int64 `tokens`, that part at positions in the second half which follow from
    `lab_scalar`. Returns the sum of i · length_i."""
    mine = array("q", tokens.tolist())
    theirs = array("q", mine)
    key, other, half, digest = RadixKey(mine), RadixKey(theirs), len(mine) // 2, 0
    for number in range(1, repeats + 1):
        position = half + int(lab_scalar * number * 0.6180339887498949 % 1.0 * half)
        theirs[position] += 1
        digest += number * (slow_match(key, other) if slow else key.match(other))
        theirs[position] -= 1
    return float(digest)
