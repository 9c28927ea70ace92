"""Eviction: what goes, in which order, how much, at what cost."""

import sys
from pathlib import Path

import pytest
import torch

from grading import lab

sys.path.insert(0, str(Path(__file__).parent))
import oracle
from steps import ALL, evict, insert, lock, match, nodes_of, run_scripts, unlock, unpack, word


@lab.contract(6, 9, topic="evict")
@pytest.mark.parametrize("policy", ["lru", "lfu", "fifo", "priority"])
def test_order(lab, policy):
    """Leaves go in the order of the strategy - last use, inserts, age, or importance - in a script and at random."""
    a, b, c, d = (first + word(lab, 5) for first in "1234")
    ops = [insert(a, priority=2), insert(b, priority=1), insert(c, priority=3), insert(d)]
    ops += [insert(b, priority=1), match(c), match(c), match(a), insert(d, priority=2), insert(d)]
    run_scripts(lab, ops + [evict(1)] * 4, oracle.draw(lab.random, 400, 1, longest=12), policy=policy)


@lab.contract(6, topic="insert")
def test_refresh(lab):
    """A lookup and an insert make everything on their way recent; of two siblings that one insert makes, the old half
    goes first."""
    a, b = "1" + word(lab, 7), "2" + word(lab, 7)
    calls = [insert(a)], [match(a)], [match(a[:4])], [insert(a[:4] + "!!")], [insert(a[:4])]
    run_scripts(lab, *([insert(a), insert(b), *call, *[evict(1)] * 4] for call in calls))


@lab.contract(6, topic="insert")
def test_priority_path(lab):
    """An insert lifts the importance of every node on its way, and only of those."""
    key = word(lab, 12)
    ops = [insert("#" * 3, priority=2), insert(key, priority=1), insert(key[:4], priority=3), insert(key[:8] + "!")]
    split = [insert(key, priority=3), match(key[:5]), insert("#", priority=2), lock(key), evict(9), unlock(0)]
    run_scripts(lab, ops + [evict(1)] * 6, split + [evict(1)] * 3, policy="priority")


@lab.contract(6, topic="insert")
def test_hit_counts(lab):
    """Inserts count, lookups never; a split copies the count; what the same request inserted before is not counted."""
    ops = [insert("1234"), match("12"), insert("1299"), match("1234"), insert("129955", inserted_len=4)]
    [answer] = lab.run("probe_ops", ops=ops, page_size=1, policy="lfu", pool=64)
    [column] = unpack(lab, answer, "nodes")
    after = [sorted((node["tokens"], node["children"], node["hits"]) for node in nodes_of(step)) for step in column]
    want = [(4, 0, 1)], [(2, 0, 1), (2, 1, 1)], [(2, 0, 1), (2, 0, 1), (2, 2, 2)]
    want = [*want, want[-1], [(2, 0, 1), (2, 0, 1), (2, 1, 1), (2, 2, 2)]]
    for op, got, expected in zip(ops, after, want, strict=True):
        lab.check(got == expected, f"tokens, children, hits of the nodes after {op['op']} {op['key']}", expected, got)


@lab.contract(9, topic="evict")
def test_evict_exact(lab):
    """evict(n) takes whole leaves and stops at the first moment at which n tokens are freed; n <= 0 frees nothing."""
    leaves = [first + word(lab, length - 1) for first, length in (("1", 5), ("2", 7), ("3", 3))]
    numbers = [-3, 0, *range(1, 16), 100]
    cases = [{"ops": [*map(insert, leaves), evict(n), evict(100)]} for n in numbers]
    [answers] = lab.run("probe_ops", cases=cases, page_size=1, policy="lru", pool=32)
    for n, answer in zip(numbers, answers, strict=True):
        want = next((freed for freed in (0, 5, 12, 15) if freed >= n), 15)
        got, slots = (column[3] for column in unpack(lab, answer, "len", "slots"))
        lab.check(got == [want], f"tokens that evict({n}) says it freed", [want], got)
        lab.check(slots == list(range(want)), f"slots that evict({n}) freed", list(range(want)), slots)
        total = unpack(lab, answer, "total")[0][3:]
        lab.check(
            total == [[15 - want], [0]], f"tokens left after evict({n}), then evict(100)", [[15 - want], [0]], total
        )


@lab.contract(9, topic="evict")
def test_evict_cascade(lab):
    """A parent that has lost its last child goes in the same round, leaf first, and locked ones stay."""
    key = word(lab, 15)
    chain = [insert(key[:stop]) for stop in (4, 6, 11, 15)]
    some = [*chain, evict(5), insert("#"), evict(3), evict(100)]
    locked = [*chain, insert("#"), lock(key[:6]), evict(100), unlock(0), evict(3), evict(100)]
    run_scripts(lab, [*chain, evict(100)], some, locked, names=ALL)


@lab.contract(10, topic="evict")
def test_scale(lab):
    """Eviction looks at the evictable leaves only, however large the tree; the tree keeps each token once."""
    tails, long = 4_000, 40_000
    key = torch.randint(0, 1000, (long,), generator=lab.generator)
    [got] = lab.run("probe_scale", key=key, tails=tails, rounds=3)
    groups = -(-tails // 64)
    for name, want in (("nodes", 1 + groups + tails), ("tokens", long + groups + tails), ("leaves", 4)):
        lab.check(got[name] == want, f"{name} in the tree", want, got[name])
    for number, (freed, asked, looked) in enumerate(got["rounds"]):
        leaves = 4 - number
        lab.check(freed == 1, f"tokens freed by evict(1) with {leaves} evictable leaves", 1, freed)
        lab.check(
            asked <= leaves + 2, f"calls of get_priority with {leaves} evictable leaves", f"≤ {leaves + 2}", asked
        )
        lab.check(looked <= 32, "looks at a node's children", "≤ 32", looked)
