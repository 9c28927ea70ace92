"""Whole requests: no slot is lost, none has two owners, everyone reads what was computed for his own prefix."""

import sys
from pathlib import Path

import pytest

from grading import lab

sys.path.insert(0, str(Path(__file__).parent))
from steps import nodes_of, unpack, word

HASH_PRIME = (1 << 61) - 1
NAMES = ("result", "running", "rows", "kv", "tree", "free", "sizes", "nodes")


def prefix_hashes(tokens: str, extra_key: str | None) -> list[int]:
    """What the forward pass of the probe computes: a number a token, of the token and all before it."""
    hashes, state = [], sum(map(ord, extra_key or ""))
    for token in tokens:
        state = (state * 1_000_003 + ord(token) + 1) % HASH_PRIME
        hashes.append(state)
    return hashes


def steps_of(lab, answer: dict) -> list[dict]:
    return [dict(zip(NAMES, row, strict=True)) for row in zip(*unpack(lab, answer, *NAMES), strict=True)]


def requests_of(step: dict) -> dict[int, dict]:
    """The running requests of a step: tokens, tree-owned tokens, row, what they read."""
    found, start = {}, 0
    for number, tokens, owned in zip(*[iter(step["running"])] * 3, strict=True):
        part = slice(start, start + tokens)
        found[number] = {"tokens": tokens, "owned": owned, "row": step["rows"][part], "kv": step["kv"][part]}
        start += tokens
    return found


def check_conserved(lab, step: dict, pool: int, where: str) -> None:
    """Each slot has one owner: the free list, the tree, or a request. Protected is what requests share in the tree."""
    requests = requests_of(step).values()
    own = [slot for request in requests for slot in request["row"][request["owned"] :]]
    owners = sorted(step["free"] + step["tree"] + own)
    lost, twice = pool - len(set(owners)), len(owners) - len(set(owners))
    if lost or twice:
        lab.note("lost" if lost else "twice")
    lab.check(not twice, f"slots with two owners {where}", 0, twice)
    lab.check(not lost, f"slots that nobody owns {where}", 0, lost)
    shared = {slot for request in requests for slot in request["row"][: request["owned"]]}
    lab.check(shared <= set(step["tree"]), f"shared slots of the rows are the tree's {where}")
    want = [len(step["tree"]) - len(shared), len(shared)]
    if step["sizes"] != want:
        lab.note("sizes")
    lab.check(step["sizes"] == want, f"evictable_size, protected_size {where}", want, step["sizes"])


def draw(random, steps: int) -> list[dict]:
    """Requests on a few prompts of two namespaces, with a pool that does not hold them all."""
    prompts = ["".join(random.choices("ab", k=random.randint(4, 20))) for _ in range(6)]
    script, started = [], 0
    for _ in range(steps):
        kind = random.choices(["start", "append", "checkpoint", "finish", "abort", "evict"], [5, 4, 5, 2, 2, 1])[0]
        op = {"op": kind, "req": random.randint(max(0, started - 6), max(0, started - 1))}
        if kind == "start":
            tokens = random.choice(prompts) + "".join(random.choices("ab", k=random.randint(1, 6)))
            op = {"op": kind, "req": started, "tokens": tokens, "extra_key": random.choice([None, "lora"])}
            started += 1
        elif kind == "append":
            op["tokens"] = "".join(random.choices("ab", k=random.randint(1, 3)))
        elif kind == "checkpoint":
            op["up_to"] = random.randint(1, 40)
        elif kind == "evict":
            op = {"op": kind, "n": random.randint(0, 20)}
        script.append(op)
    return script + [{"op": "abort", "req": req} for req in range(started)] + [{"op": "evict", "n": 1 << 20}]


@lab.contract(11, 12, topic="checkpoint")
@pytest.mark.parametrize("page", [1, 4], ids=["page1", "page4"])
def test_conservation(lab, page):
    """While requests start, grow, checkpoint, finish, abort and evict, each slot has one owner and each row reads the
    KV of its own tokens."""
    pool, script = 150, draw(lab.random, 250)
    [answer] = lab.run("probe_requests", script=script, page_size=page, pool=pool)
    texts: dict[int, list] = {}
    for number, (op, step) in enumerate(zip(script, steps_of(lab, answer), strict=True)):
        where = f"after step {number}, {op['op']} {op.get('req', '')}"
        if op["op"] == "start":
            texts[op["req"]] = ["", op["extra_key"]]
        if op["op"] in ("start", "append") and step["result"] == [1]:
            texts[op["req"]][0] += op["tokens"]
        check_conserved(lab, step, pool, where)
        for req, request in requests_of(step).items():
            want = prefix_hashes(*texts[req])
            lab.check(request["kv"] == want, f"the KV that request {req} reads {where}", want, request["kv"])
        if op["op"] == "checkpoint" and step["result"] == [1]:
            request = requests_of(step)[op["req"]]
            least = min(op["up_to"], request["tokens"]) // page * page
            good = request["owned"] >= least and request["owned"] % page == 0
            lab.check(good, f"cache_protected_len {where}", f"≥ {least}", request["owned"])
    lab.check(step["tree"] == [] and step["sizes"] == [0, 0], "the tree when all are gone", [], step["tree"])


@lab.contract(11, topic="checkpoint")
def test_checkpoint_duplicates(lab):
    """Of two requests that computed one prompt at once, the second frees its duplicates, takes over the tree's slots,
    and keeps its partial page."""
    tokens = word(lab, 14)
    script = [{"op": "start", "req": 0, "tokens": tokens}, {"op": "start", "req": 1, "tokens": tokens}]
    script += [{"op": "checkpoint", "req": 0, "up_to": 14}, {"op": "checkpoint", "req": 1, "up_to": 7}]
    script += [{"op": "checkpoint", "req": 1, "up_to": 14}, {"op": "abort", "req": 0}, {"op": "evict", "n": 99}]
    [answer] = lab.run("probe_requests", script=script, page_size=4, pool=32)
    steps = steps_of(lab, answer)
    first, second = list(range(14)), list(range(14, 28))
    for number, shared in ((3, 4), (4, 12), (6, 12)):
        got = requests_of(steps[number])[1]
        want = first[:shared] + second[shared:]
        if got["row"] != want:
            lab.note("row")
        lab.check(got["row"] == want, f"row of the second request after step {number}", want, got["row"])
        lab.check(got["owned"] == shared, f"its cache_protected_len after step {number}", shared, got["owned"])
    for number, step in enumerate(steps):
        check_conserved(lab, step, 32, f"after step {number}")
    freed = sorted(set(steps[4]["free"]) - set(steps[2]["free"]))
    lab.check(freed == second[:12], "duplicates that are free", second[:12], freed)


@lab.contract(11, topic="checkpoint")
def test_checkpoint_moves_lock(lab):
    """After a checkpoint the request's lock is where its tree-owned prefix ends, and nowhere else."""
    tokens = word(lab, 12)
    script = [{"op": "start", "req": 0, "tokens": tokens}, {"op": "evict", "n": 99}]
    for up_to in (4, 4, 9, 12):
        script += [{"op": "checkpoint", "req": 0, "up_to": up_to}, {"op": "evict", "n": 99}]
    [answer] = lab.run("probe_requests", script=[*script, {"op": "finish", "req": 0}], page_size=1, pool=16)
    steps = steps_of(lab, answer)
    got = [[step["sizes"], [node["locks"] for node in nodes_of(step["nodes"])]] for step in steps[2::2]]
    want = [[[0, 4], [1]], [[0, 4], [1]], [[0, 9], [1, 1]], [[0, 12], [1, 1, 1]], [[12, 0], [0, 0, 0]]]
    lab.check(got == want, "sizes, and locks from the root down, after each checkpoint and at the end", want, got)


@lab.contract(6, 11, topic="checkpoint")
def test_checkpoint_counts_once(lab):
    """A request that checkpoints again and again is one hit for each node, and a second request one more."""
    tokens = word(lab, 12)
    script = [{"op": "start", "req": 0, "tokens": tokens}]
    script += [{"op": "checkpoint", "req": 0, "up_to": up_to} for up_to in (4, 8, 8, 12)]
    script += [{"op": "start", "req": 1, "tokens": tokens}, {"op": "checkpoint", "req": 1, "up_to": 12}]
    [answer] = lab.run("probe_requests", script=script, page_size=4, pool=32, policy="lfu")
    steps = steps_of(lab, answer)
    got = [[node["hits"] for node in nodes_of(step["nodes"])] for step in steps[1:]]
    want = [[1], [1, 1], [1, 1], [1, 1, 1], [1, 1, 1], [2, 2, 2]]
    lab.check(got == want, "hits from the root down after each step", want, got)


@lab.contract(11, 12, topic="checkpoint")
def test_abort_at_every_step(lab):
    """Whenever the clients disconnect, everything is evictable at once, and the pool is whole after an eviction."""
    tokens, more = word(lab, 13), word(lab, 6)
    script = [{"op": "start", "req": 0, "tokens": tokens}, {"op": "checkpoint", "req": 0, "up_to": 6}]
    script += [{"op": "start", "req": 1, "tokens": tokens[:9] + "!"}, {"op": "checkpoint", "req": 1, "up_to": 10}]
    script += [{"op": "checkpoint", "req": 0, "up_to": 13}, {"op": "append", "req": 0, "tokens": more}]
    script += [{"op": "checkpoint", "req": 0, "up_to": 19}, {"op": "finish", "req": 1}]
    end = [{"op": "abort", "req": 0}, {"op": "abort", "req": 1}, {"op": "evict", "n": 99}]
    cases = [{"script": script[:stop] + end} for stop in range(1, len(script) + 1)]
    [answers] = lab.run("probe_requests", cases=cases, page_size=2, pool=40)
    for stop, answer in enumerate(answers, 1):
        *_, gone, empty = steps_of(lab, answer)
        if gone["sizes"][1] or len(empty["free"]) != 40:
            lab.note(f"step {stop}")
        lab.check(gone["sizes"][1] == 0, f"protected_size after an abort at step {stop}", 0, gone["sizes"][1])
        lab.check(len(empty["free"]) == 40, f"free slots after an abort at step {stop}", 40, len(empty["free"]))
