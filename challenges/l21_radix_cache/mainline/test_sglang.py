"""The patch and sglang's own RadixCache through the same scripts: what each call returns, and the tree after it."""

import sys
from pathlib import Path

import pytest

from grading import lab

sys.path.insert(0, str(Path(__file__).parents[1] / "hidden"))
import oracle
import test_requests
from steps import in_words, nodes_of, unpack

SCRIPTS, STEPS, AUDIT = 60, 80, 8
REQUEST_SCRIPTS, REQUEST_STEPS = 24, 60
STEP = {"len": "what the call returned", "slots": "the slots", "sizes": "evictable_size, protected_size"}
AUDITED = {"total": "the tokens in the tree", "leaves": "last slots of the evictable leaves", "nodes": "the nodes"}
REQUEST = ("result", "running", "rows", "kv", "free", "sizes", "nodes")


def nodes(column):
    """(tokens, slots, children, locks, hits, is an evictable leaf) of each node, in an order of its own."""
    return sorted([value for key, value in node.items() if key != "parent"] for node in nodes_of(column))


def both(lab, got, want, names):
    """Name -> the patch's column and upstream's."""
    columns = dict(zip(names, zip(unpack(lab, got, *names), unpack(lab, want, *names), strict=True), strict=True))
    return columns | {"nodes": tuple([nodes(column) for column in side] for side in columns["nodes"])}


def agree(lab, script, words, columns, inputs, every=1):
    """Step by step, `columns` (name -> the patch's and upstream's, one list a step); the first difference is told."""
    for number in range(0, len(script), every):
        for name, word in words.items():
            got, want = (side[number // every] for side in columns[name])
            if got != want:
                done = "; ".join(map(str, script[max(0, number - 12) : number + 1]))
                what = f"step {number}, {script[number]}: {word}"
                lab.agrees(got, want, inputs | {"steps up to there": done}, what=what)


@lab.contract(1, 2, 5, 9, topic="evict")
@pytest.mark.parametrize("policy", ["lru", "lfu", "fifo", "priority"])
def test_scripts(lab, policy):
    """Through 60 random scripts lengths, slots, sizes, leaves and freed slots are those of sglang's RadixCache."""
    given = []
    for number in range(SCRIPTS):
        page = (1, 2, 4)[number % 3]
        ops = oracle.draw(lab.random, STEPS, page)
        given.append({"ops": ops, "page_size": page, "policy": policy, "pool": 1 << 12, "audit": AUDIT})
    (theirs,) = lab.upstream("mainline.upstream", name="probe_ops", inputs=given)
    (ours,) = lab.run("mainline.patch", name="probe_ops", inputs=given)
    for one, got, want in zip(given, ours, theirs, strict=True):
        lab.check(not got["errors"], f"an assertion failed: {got['errors'][:1]}")
        columns = both(lab, got, want, [*STEP, *AUDITED])
        inputs, script = {"page_size": one["page_size"], "policy": policy}, [in_words(op) for op in one["ops"]]
        agree(lab, script, STEP, columns, inputs)
        agree(lab, script, AUDITED, columns, inputs, AUDIT)


@lab.contract(11, 12, topic="checkpoint")
@pytest.mark.parametrize("page_size", [1, 4])
def test_requests_checkpoint(lab, page_size):
    """Requests that start, grow, checkpoint, finish and abort leave rows, KV, free list and tree as sglang does."""
    given = []
    for number in range(REQUEST_SCRIPTS):
        script, policy = test_requests.draw(lab.random, REQUEST_STEPS), ("lru", "lfu", "fifo")[number % 3]
        given.append({"script": script, "page_size": page_size, "pool": 150, "policy": policy})
    (theirs,) = lab.upstream("mainline.upstream", name="probe_requests", inputs=given)
    (ours,) = lab.run("mainline.patch", name="probe_requests", inputs=given)
    for one, got, want in zip(given, ours, theirs, strict=True):
        columns = both(lab, got, want, REQUEST)
        inputs = {"page_size": page_size, "policy": one["policy"]}
        agree(lab, one["script"], dict(zip(REQUEST, REQUEST, strict=True)), columns, inputs)
