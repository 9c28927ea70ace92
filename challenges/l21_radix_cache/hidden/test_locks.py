"""Locks: what a running request keeps from being evicted."""

import re
import sys
from pathlib import Path

from grading import lab

sys.path.insert(0, str(Path(__file__).parent))
from steps import ALL, evict, insert, lock, match, run_scripts, unlock, unpack, word


@lab.contract(4, 7, topic="split")
def test_split_locked(lab):
    """A node that is locked when a lookup splits it stays locked as a whole, and is free as a whole afterwards."""
    key, cut = word(lab, 12), lab.random.randint(3, 9)
    ops = [insert(key), lock(key), match(key[:cut]), evict(100), insert(key[:2] + "!"), evict(100)]
    ops += [unlock(0), evict(100)]
    run_scripts(lab, ops, names=ALL)


@lab.contract(8, topic="locks")
def test_lock_path(lab):
    """A lock protects the node and every ancestor below the root; siblings and what lies beneath stay evictable."""
    key = word(lab, 15)
    ops = [insert(key[:5]), insert(key[:10]), insert(key), insert(key[:5] + "!!"), insert("#")]
    ops += [lock(key[:10]), evict(100), match(key), unlock(0), evict(100)]
    run_scripts(lab, ops, names=ALL)


@lab.contract(7, 8, topic="locks")
def test_lock_counts(lab):
    """Two requests on one prefix protect it once, and it is free when the second has left."""
    key = word(lab, 12)
    ops = [insert(key), lock(key[:6]), lock(key[:6]), lock(key), unlock(0), evict(100), unlock(2), evict(100)]
    ops += [lock(key[:3]), unlock(1), evict(100), unlock(3), evict(100)]
    run_scripts(lab, ops, names=ALL)


@lab.contract(8, topic="locks")
def test_lock_root(lab):
    """Locking where nothing matched locks nothing: the root is never counted and never evicted."""
    key = word(lab, 6)
    ops = [lock(key), evict(5), insert(key), lock("#"), evict(5), unlock(0), insert(key), unlock(1), evict(5)]
    run_scripts(lab, ops, names=ALL)


@lab.contract(8, topic="locks")
def test_dec_below_zero(lab):
    """One unlock too many is an AssertionError that names the node's id, and it changes nothing."""
    key = word(lab, 10)
    ops = [insert(key), insert("#"), lock(key), unlock(0), unlock(0), lock(key), evict(100), unlock(1), evict(100)]
    [answer] = lab.run("probe_ops", ops=ops, page_size=1, policy="lru", pool=64)
    if len(answer["errors"]) != 1:
        lab.note(f"{len(answer['errors'])} assertions")
    lab.check(len(answer["errors"]) == 1, "assertions that failed", "one, at step 4", answer["errors"])
    [error] = answer["errors"]
    lab.check(error["step"] == 4, "the step whose assertion failed", 4, error["step"])
    named = str(error["node"]) in re.findall(r"\d+", error["message"])
    lab.check(named, f"the message names node {error['node']}", str(error["node"]), error["message"])
    lengths, sizes = unpack(lab, answer, "len", "sizes")
    want = [[0], [0], [-10], [10], [-1], [-10], [1], [10], [10]]
    lab.check(lengths == want, "what the calls returned", want, lengths)
    want = [[10, 0], [11, 0], [1, 10], [11, 0], [11, 0], [1, 10], [0, 10], [10, 0], [0, 0]]
    lab.check(sizes == want, "evictable_size, protected_size", want, sizes)
