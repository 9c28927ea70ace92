"""The manager: in which order memory leaves and comes back, and what goes with it."""

import itertools

import torch

from grading import lab

KV, WEIGHTS, GRAPH = "kv_cache", "weights", "cuda_graph"
ALL = [KV, WEIGHTS, GRAPH]
RELEASE = {KV: [f"pause {KV}", "flush"], WEIGHTS: [f"pause {WEIGHTS}"], GRAPH: [f"pause {GRAPH}"]}
OUTPUT = {"release": "ReleaseMemoryOccupationReqOutput", "resume": "ResumeMemoryOccupationReqOutput"}
ORDERS = [None, [], *(list(some) for size in (1, 2, 3) for some in itertools.permutations(ALL, size))]
BUFFERS = ("inv_freq", "count", "mask")
BUSY = "AssertionError: release_memory_occupation should be called only when server is idle."


def draw_buffers(lab):
    """What a model cannot load again: a table that no state dict holds, a counter, a mask."""
    inv_freq = torch.rand(5, generator=lab.generator)
    mask = torch.rand(4, generator=lab.generator) < 0.5
    return [inv_freq, torch.tensor(lab.random.randint(1, 1000)), mask]


def ask(lab, *steps, buffers):
    script = [{"op": op, "tags": tags, "idle": op != "busy"} for op, tags in steps]
    [answers] = lab.run("manager", script=[one | {"op": one["op"].replace("busy", "release")} for one in script],
                        buffers=buffers)  # fmt: skip
    return answers


def check(lab, got, what, **want):
    for name, value in want.items():
        if got[name] != value:
            lab.note(f"{name} {value} {got[name]}" if name == "trace" else name)
        lab.check(got[name] == value, f"{name} {what}", value, got[name])


def check_buffers(lab, got, buffers, what):
    wrong = [name for name, mine, want in zip(BUFFERS, got["buffers"], buffers, strict=True) if not mine.equal(want)]
    lab.note(*wrong)
    lab.close(got["buffers"], buffers, what=f"buffers {what}")


@lab.contract(7, topic="manager")
def test_release_order(lab):
    """Whatever the order of the tags, kv_cache is paused and flushed first, then weights, then cuda_graph."""
    buffers = draw_buffers(lab)
    cases = [{"script": [{"op": "release", "tags": tags}], "buffers": buffers} for tags in ORDERS]
    [answers] = lab.run("manager", cases=cases)
    for tags, [answer] in zip(ORDERS, answers, strict=True):
        meant = tags or ALL
        trace = [event for tag in ALL if tag in meant for event in RELEASE[tag]]
        what = f"of a release of {tags}"
        check(lab, answer, what, trace=trace, tags=sorted(meant), stash=WEIGHTS in meant, answer=OUTPUT["release"])


@lab.contract(8, topic="manager")
def test_resume_order(lab):
    """Whatever the order of the tags, cuda_graph comes back first, then weights with their buffers, then kv_cache."""
    buffers = draw_buffers(lab)
    cases = [
        {"script": [{"op": "release", "tags": None}, {"op": "resume", "tags": tags}], "buffers": buffers}
        for tags in ORDERS
    ]
    [answers] = lab.run("manager", cases=cases)
    for tags, [_, answer] in zip(ORDERS, answers, strict=True):
        meant, what = tags or ALL, f"of a resume of {tags} after a release of all"
        trace = [f"resume {tag}" for tag in reversed(ALL) if tag in meant]
        left = sorted(set(ALL) - set(meant))
        check(lab, answer, what, trace=trace, tags=left, stash=WEIGHTS not in meant, answer=OUTPUT["resume"])
        if WEIGHTS in meant:
            check_buffers(lab, answer, buffers, what)


@lab.contract(8, 9, topic="manager")
def test_partial_resume(lab):
    """Weights can come back alone, to be loaded, and the rest later; the buffers are right from the first on."""
    buffers = draw_buffers(lab)
    steps = [("release", [GRAPH, KV]), ("release", [WEIGHTS]), ("resume", [WEIGHTS]), ("resume", [KV, GRAPH])]
    steps += [("release", None), ("resume", [])]
    answers = ask(lab, *steps, buffers=buffers)
    want = [
        ([f"pause {KV}", "flush", f"pause {GRAPH}"], [GRAPH, KV]),
        ([f"pause {WEIGHTS}"], [GRAPH, KV, WEIGHTS]),
        ([f"resume {WEIGHTS}"], [GRAPH, KV]),
        ([f"resume {GRAPH}", f"resume {KV}"], []),
        ([f"pause {KV}", "flush", f"pause {WEIGHTS}", f"pause {GRAPH}"], [GRAPH, KV, WEIGHTS]),
        ([f"resume {GRAPH}", f"resume {WEIGHTS}", f"resume {KV}"], []),
    ]
    for number, (answer, (trace, tags)) in enumerate(zip(answers, want, strict=True)):
        check(lab, answer, f"of step {number}, {steps[number]}", trace=trace, tags=tags)
        if WEIGHTS not in tags:
            check_buffers(lab, answer, buffers, f"after step {number}, {steps[number]}")


@lab.contract(7, topic="manager")
def test_not_idle(lab):
    """A release of a busy server is an AssertionError, and nothing has changed."""
    buffers = draw_buffers(lab)
    answers = ask(lab, ("busy", None), ("release", [KV]), ("busy", [WEIGHTS]), buffers=buffers)
    check(lab, answers[0], "of a busy server", answer=BUSY, trace=[], tags=[], stash=False)
    check(lab, answers[1], "of the same server, idle", answer=OUTPUT["release"], tags=[KV])
    check(lab, answers[2], "of a busy server", answer=BUSY, trace=[], tags=[KV], stash=False)
    check_buffers(lab, answers[2], buffers, "of a busy server")


@lab.contract(8, topic="manager")
def test_unknown_resume(lab):
    """To resume a tag that was not released is a KeyError, and nothing is resumed, not even the tags that were."""
    buffers = draw_buffers(lab)
    steps = [("resume", [KV]), ("release", [KV, WEIGHTS]), ("resume", None), ("resume", [WEIGHTS, GRAPH])]
    steps += [("resume", [KV, WEIGHTS]), ("resume", [WEIGHTS])]
    answers = ask(lab, *steps, buffers=buffers)
    refused = {0: (KV, []), 2: (GRAPH, [KV, WEIGHTS]), 3: (GRAPH, [KV, WEIGHTS]), 5: (WEIGHTS, [])}
    for number, (tag, left) in refused.items():
        what = f"of step {number}, {steps[number]}"
        check(lab, answers[number], what, answer=f"KeyError: '{tag}'", trace=[], tags=left)
    check(lab, answers[4], "of the right resume", trace=[f"resume {WEIGHTS}", f"resume {KV}"], tags=[])
    check_buffers(lab, answers[4], buffers, "after the right resume")


@lab.contract(7, 8, topic="manager")
def test_ranks_wait(lab):
    """No rank pauses weights before all have stashed their buffers, none restores them before all have resumed."""
    out = lab.run("barrier", ranks=3, groups=[[0, 1], [2]], slow=1, patience_s=0.2)
    events = out[:2]
    posted = [[(one.phase, one.group) for one in records if one.op == "barrier" and one.kind == "post"]
              for records in lab.records()]  # fmt: skip
    if len(posted[0]) != 2:
        lab.note(f"{len(posted[0])} barriers")
    for first, second in (("stash", "pause"), ("resume", "restore")):
        both = all(first in one and second in one for one in events)
        lab.check(both, f"every rank's {first} and {second}", "both", events)
        last, next_ = (max(one[first] for one in events), min(one[second] for one in events))
        if last > next_:
            lab.note(second)
        lab.check(last < next_, f"every rank's {first} comes before any rank's {second}", f"< {next_}", last)
    for rank, got in enumerate(posted):
        want = [("release", (0, 1)), ("resume", (0, 1))] if rank < 2 else []
        lab.check(got == want, f"barriers of rank {rank}, with their groups", want, got)
