"""The judge's own idea of the cache: no tree, but one entry a page.

`pages` maps (namespace, prefix) to the slots of that prefix's last page. `ends` says at which prefixes a node ends:
where an insert ended, and where a call parted from a stored run. All that the contract promises follows from these.
"""

from collections import Counter
from dataclasses import dataclass

PRIORITY = {
    "lru": lambda end: end.used,
    "lfu": lambda end: (end.hits, end.used),
    "fifo": lambda end: end.made,
    "priority": lambda end: (end.priority, end.used),
}


@dataclass
class End:
    """What is known of the node that ends at a prefix."""

    used: int
    made: int
    hits: int
    priority: int


class Model:
    """Answers each operation as `probe_ops` does: (what it returns, slots)."""

    def __init__(self, page_size: int, policy: str):
        self.page, self.order = page_size, PRIORITY[policy]
        self.pages, self.ends = {}, {}
        self.next_pages = {}  # (namespace, prefix) -> the pages that follow it somewhere
        self.locked = Counter()  # (namespace, prefix) -> locks at it or beyond it
        self.handles, self.clock, self.fresh = [], 0, 0

    def tick(self) -> int:
        self.clock += 1
        return self.clock

    def whole(self, key: str) -> str:
        return key[: len(key) // self.page * self.page]

    def prefixes(self, key: str, space, start: int = 0):
        """(namespace, prefix) of each page of `key` beyond the first `start` tokens."""
        return [(space, key[:stop]) for stop in range(start + self.page, len(self.whole(key)) + 1, self.page)]

    def slots(self, key: str, space) -> list[int]:
        return [slot for prefix in self.prefixes(key, space) for slot in self.pages[prefix]]

    def walk(self, key: str, space) -> str:
        """The cached part of `key`; afterwards a node ends there."""
        now, found = self.tick(), ""
        for prefix in self.prefixes(key, space):
            if prefix not in self.pages:
                break
            found = prefix[1]
        for prefix in self.prefixes(found, space):
            if prefix in self.ends:
                self.ends[prefix].used = now
        if found and (space, found) not in self.ends:
            lower = self.ends[space, self._end_below(space, found)]
            lower.used = now
            made = self.tick()
            self.ends[space, found] = End(made, made, lower.hits, lower.priority)
        return found

    def _end_below(self, space, key: str) -> str:
        """The end of the node in whose middle `key` ends; up to there each page has one successor."""
        while (space, key) not in self.ends:
            key += next(iter(self.next_pages[space, key]))
        return key

    def match(self, key: str, extra_key=None):
        found = self.walk(self.whole(key), extra_key)
        return len(found), self.slots(found, extra_key)

    def insert(self, key: str, extra_key=None, priority: int = 0, inserted_len: int = 0):
        fresh = list(range(self.fresh, self.fresh + len(key)))
        self.fresh += len(key)
        key = self.whole(key)
        found = self.walk(key, extra_key)
        for prefix in self.prefixes(found, extra_key):
            if prefix in self.ends:
                end = self.ends[prefix]
                end.priority = max(end.priority, priority)
                end.hits += len(prefix[1]) > inserted_len
        if len(key) > len(found):
            for prefix in self.prefixes(key, extra_key, len(found)):
                stop = len(prefix[1])
                self.pages[prefix] = fresh[stop - self.page : stop]
                before = prefix[1][: -self.page]
                self.next_pages.setdefault((extra_key, before), set()).add(prefix[1][-self.page :])
            made = self.tick()
            self.ends[extra_key, key] = End(made, made, int(len(key) > inserted_len), priority)
        return len(found), self.slots(key, extra_key)

    def lock(self, key: str, extra_key=None):
        length, slots = self.match(key, extra_key)
        before = self.protected
        self.handles.append((key[:length], extra_key))
        self.locked.update(self.prefixes(key[:length], extra_key))
        return before - self.protected, slots

    def unlock(self, handle: int):
        key, space = self.handles[handle]
        before = self.protected
        self.locked -= Counter(self.prefixes(key, space))
        return before - self.protected, self.slots(key, space)

    def evict(self, n: int):
        freed = []
        while len(freed) < n and (leaves := self.leaves()):
            space, key = min(leaves, key=lambda prefix: self.order(self.ends[prefix]))
            freed += self._drop(space, key)
        return len(freed), freed

    def step(self, op: str, **arguments) -> tuple[int, list[int]]:
        return getattr(self, op)(**arguments)

    def _drop(self, space, key: str) -> list[int]:
        """Remove the node that ends at `key`: all pages back to the end above it."""
        del self.ends[space, key]
        slots = []
        while key and (space, key) not in self.ends:
            slots = self.pages.pop((space, key)) + slots
            page, key = key[-self.page :], key[: -self.page]
            self.next_pages[space, key].discard(page)
        return slots

    def leaves(self) -> list[tuple]:
        return [end for end in self.ends if not self.next_pages.get(end) and not self.locked[end]]

    @property
    def total(self) -> int:
        return self.page * len(self.pages)

    @property
    def protected(self) -> int:
        return self.page * len(self.locked)

    def last_slots(self) -> list[int]:
        return sorted(self.pages[leaf][-1] for leaf in self.leaves())


def expected(ops: list[dict], page_size: int, policy: str, audit: int = 1) -> list[dict]:
    """What `probe_ops` must report of a script, step by step; `leaves` at each `audit`-th step only."""
    model, steps = Model(page_size, policy), []
    for number, op in enumerate(ops):
        length, slots = model.step(**op)
        sizes = [model.total - model.protected, model.protected]
        steps.append({"len": [length], "slots": slots, "sizes": sizes})
        if number % audit == 0:
            steps[-1] |= {"total": [model.total], "leaves": model.last_slots()}
    return steps


def draw(random, steps: int, page_size: int, alphabet: str = "ab", longest: int = 24) -> list[dict]:
    """A script in which everything happens: two namespaces, locks held over evictions, everything freed at the end."""
    ops, held, handles = [], [], 0

    def key(**more):
        text = "".join(random.choices(alphabet, k=random.randint(0, longest)))
        return {"key": text, "extra_key": random.choice([None, None, None, "lora"]), **more}

    def drop():
        return {"op": "unlock", "handle": held.pop(random.randrange(len(held)))}

    while len(ops) < steps:
        kind = random.choices(["insert", "match", "lock", "unlock", "evict"], [8, 5, 2, 2, 3])[0]
        if kind == "insert":
            ops.append({"op": "insert", **key(priority=random.randint(0, 2), inserted_len=random.choice([0, 0, 6]))})
        elif kind == "match":
            ops.append({"op": "match", **key()})
        elif kind == "lock" and len(held) < 12:
            ops.append({"op": "lock", **key()})
            held.append(handles)
            handles += 1
        elif kind == "unlock" and held:
            ops.append(drop())
        elif kind == "evict":
            ops.append({"op": "evict", "n": random.choice([0, 1, 2, 5, 10, 20, 40, 80])})
    ops += [drop() for _ in range(len(held))]
    return [*ops, {"op": "evict", "n": 1 << 20}]
