"""Lookup, insertion, splits."""

import sys
from pathlib import Path

import pytest
import torch

from grading import lab

sys.path.insert(0, str(Path(__file__).parent))
import oracle
from steps import ALL, compare, in_words, insert, match, nodes_of, run_scripts, unpack, word

PAGES = pytest.mark.parametrize("page", [1, 4], ids=["page1", "page4"])


@lab.guard
@lab.contract(1, 3, topic="match")
def test_given_keys(lab):
    """An empty key, or one shorter than a page, ends at the root; children are told apart by page and namespace."""
    first, rest = word(lab, 1), word(lab, 15)
    key = "".join(first + rest[start : start + 3] for start in range(0, 15, 3)) + "xy"
    [got] = lab.run("probe_keys", key=key, extra_key="lora", page_size=4)
    want = {"aligned": 20, "found": [0, 0], "at_root": [True, True], "names": 5, "other_namespace": False}
    lab.close(got, want, what="keys")


@lab.contract(1, topic="match")
@PAGES
def test_match_key(lab, page):
    """`match` gives the common prefix of two keys in whole pages, whatever their lengths."""
    pairs = []
    for common in [*range(0, 34), 63, 64, 65, 200]:
        shared = "".join(lab.random.choices("ab", k=common))
        for a, b in (("c", "d"), ("", "d" * 3), ("c" * 5, ""), ("", ""), ("cab" * 9, "dab" * 9)):
            pairs.append([shared + a, shared + b])
    [got] = lab.run("probe_key_match", pairs=pairs, page_size=page)
    for pair, length in zip(pairs, got.tolist(), strict=True):
        same = next((i for i, (a, b) in enumerate(zip(*pair, strict=False)) if a != b), min(map(len, pair)))
        want = same // page * page
        lab.check(length == want, f"match of keys of {len(pair[0])} and {len(pair[1])} tokens", want, length)


@lab.contract(1, 2, 5, 7, topic="match")
@pytest.mark.parametrize(("page", "steps"), [(1, 1800), (4, 1200)], ids=["page1", "page4"])
def test_model_check(lab, page, steps):
    """In 3,000 random operations every length, every slot and both sizes are those of a table of pages."""
    run_scripts(lab, oracle.draw(lab.random, steps, page), page_size=page, audit=100, names=ALL)


@lab.contract(2, 5, topic="match")
def test_differential(lab):
    """1,000 random operations give the lengths, slots and sizes that the reference gives."""
    ops = oracle.draw(lab.random, 1000, 2)
    inputs = {"ops": ops, "page_size": 2, "policy": "lfu", "pool": 1 << 16, "audit": 1 << 20}
    [got], [want] = lab.run("probe_ops", **inputs), lab.reference("probe_ops", **inputs)
    columns = unpack(lab, want, "len", "slots", "sizes")
    steps = [dict(zip(("len", "slots", "sizes"), row, strict=True)) for row in zip(*columns, strict=True)]
    compare(lab, got, steps, ops)


@lab.contract(2, 4, topic="split")
def test_split_edges(lab):
    """After a lookup that ends inside a node, old and new keys are found along both halves, slot for slot."""
    key = word(lab, 12)
    ops = [insert("#" + key), match("#" + key[:8]), match("#" + key[:4]), match("#" + key), match("#" + key[:8] + "!")]
    ops += [insert("#" + key[:2] + "!"), match("#" + key), insert("#" + key + "!"), match("#" + key + "!")]
    run_scripts(lab, ops, names=("len", "slots"))


@lab.contract(2, 4, topic="split")
def test_split_shape(lab):
    """A split puts one new node between the old one and its parent, and leaves everything else where it was."""
    key, cut = word(lab, 12), lab.random.randint(5, 8)
    ops = [insert(key[:3]), insert(key), match(key[:cut])]
    [answer] = lab.run("probe_ops", ops=ops, page_size=1, policy="lru", pool=64)
    nodes = nodes_of(unpack(lab, answer, "nodes")[0][-1])
    got = [[node["parent"], node["tokens"], node["slots"], node["children"]] for node in nodes]
    want = [[-1, 3, 3, 1], [0, cut - 3, cut - 3, 1], [1, 12 - cut, 12 - cut, 0]]
    lab.check(got == want, "parent, tokens, slots and children of the nodes from the root down", want, got)


@lab.contract(4, 5, topic="split")
def test_split_ownership(lab):
    """No two nodes share a storage, and none keeps more bytes than its own slots, before and after half is freed."""
    key, cut = word(lab, 20), lab.random.randint(5, 15)
    ops = [insert(key), match(key[:cut]), insert(key[:cut] + "#" * 7), match(key[: cut - 3])]
    [got] = lab.run("probe_storage", script=ops, keep=key[:cut], evict=7 + 20 - cut)
    for when, tokens in (("before", 27), ("after", cut)):
        nodes = got[when]
        lab.check(
            nodes["dtypes"] == ["torch.int64"], "dtype of the slots in the nodes", ["torch.int64"], nodes["dtypes"]
        )
        lab.check(int(nodes["tokens"].sum()) == tokens, f"tokens {when} half is freed", tokens, nodes["tokens"])
        owners = len(set(nodes["ptrs"].tolist()))
        lab.check(owners == len(nodes["ptrs"]), f"storages of {len(nodes['ptrs'])} nodes", len(nodes["ptrs"]), owners)
        want = nodes["tokens"] * 8
        lab.check(nodes["nbytes"].tolist() == want.tolist(), "bytes that each node keeps alive", want, nodes["nbytes"])
    lab.check(got["slots"].tolist() == list(range(cut)), "slots of the half that stays", list(range(cut)), got["slots"])


@lab.contract(3, topic="match")
def test_namespaces(lab):
    """Equal tokens in two namespaces share nothing, and keys of two namespaces do not compare."""
    key = word(lab, 9)
    ops = [insert(key), match(key, extra_key="lora"), insert(key[:6], extra_key="lora"), match(key, extra_key="tenant")]
    ops += [match(key, extra_key="lora"), insert(key + "!", extra_key="lora"), match(key)]
    run_scripts(lab, ops)
    [error] = lab.run("probe_namespace_error", errors=True)
    kind = error.type if isinstance(error, lab.Error) else "no error"
    lab.check(kind == "ValueError", "match of keys of two namespaces", "ValueError", kind)


@lab.contract(5, topic="insert")
def test_caller_mutates(lab):
    """What the caller writes to `value` after an insert changes nothing in the tree."""
    value = torch.tensor(lab.random.sample(range(256), 9))
    [got] = lab.run("probe_caller_mutates", key=word(lab, 9), value=value, scribble=value.flip(0) + 1)
    lab.close(got, value, what="the slots that a lookup finds")


@lab.contract(5, 7, topic="insert")
def test_insert_twice(lab):
    """A second insert of a key says what was cached, keeps the first one's slots, adds just the rest."""
    key, long = word(lab, 14), "".join(lab.random.choices("ab", k=300))
    ops = [insert(key[:9]), insert(key[:9]), insert(key), insert(key[:4]), insert(key[:4] + "!!"), match(key)]
    run_scripts(lab, ops, [insert(long), insert(long), insert(long + "!"), match(long)], names=ALL)


@lab.contract(7, 10, topic="locks")
@PAGES
def test_leaf_set(lab, page):
    """After each operation the evictable leaves are just the unlocked nodes without children, and the sizes add up."""
    ops = oracle.draw(lab.random, 250, page, longest=16)
    [answer] = run_scripts(lab, ops, page_size=page, names=("leaves", "total"))
    for number, (column, sizes) in enumerate(zip(*unpack(lab, answer, "nodes", "sizes"), strict=True)):
        nodes, where = nodes_of(column), f"after step {number}, {in_words(ops[number])}"
        leaves = [node["locks"] == 0 and node["children"] == 0 for node in nodes]
        lab.check(leaves == [bool(node["leaf"]) for node in nodes], f"nodes in evictable_leaves {where}", leaves)
        protected = sum(node["tokens"] for node in nodes if node["locks"])
        want = [sum(node["tokens"] for node in nodes) - protected, protected]
        lab.check(sizes == want, f"evictable_size, protected_size {where}", want, sizes)
