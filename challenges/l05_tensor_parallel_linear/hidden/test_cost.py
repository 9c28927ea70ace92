"""Costs: collectives, saved elements, and the order that hides communication."""

import torch

from grading import lab

DIMS = (8, 2, 6, 10)  # global s, b, h, o of the small cases
PRODUCTS = {"mm", "addmm", "bmm", "baddbmm"}
COLUMN = {"gather_output": False, "skip_bias_add": False, "sequence_parallel": False}
ROW = {"input_is_parallel": True, "skip_bias_add": False, "sequence_parallel": False}
SP = {"sequence_parallel": True}


def case(lab, kind, flags, tp=2, dims=DIMS, **more):
    """A layer of random shards for two ranks; every rank draws its own, for here only shapes matter."""
    s, b, h, o = dims
    sp = flags["sequence_parallel"]
    if kind == "column":
        weight, x = (o // tp, h), (s // tp if sp else s, b, h)
        grad = (s, b, o if flags["gather_output"] else o // tp)
    else:
        weight, x = (o, h // tp), (s, b, h // tp if flags["input_is_parallel"] else h)
        grad = (s // tp if sp else s, b, o)
    shapes = {"weight": weight, "bias": weight[:1], "x": x, "grad": grad}
    by_rank = [
        {name: torch.randn(shape, generator=lab.generator, dtype=torch.float64) for name, shape in shapes.items()}
        for _ in range(2)
    ]
    groups = [[0, 1]] if tp == 2 else [[0], [1]]
    return {"kind": kind, "flags": flags, "groups": groups, "by_rank": by_rank} | more


def volume(s, b, h, o):
    """The contract's table at tp = 2: (name, kind, flags, forward, backward) with elements that one rank passes in."""
    return [
        ("column", "column", COLUMN, [], [("all_reduce", s * b * h)]),
        (
            "column with gather_output",
            "column",
            COLUMN | {"gather_output": True},
            [("all_gather", s * b * o // 2)],
            [("all_reduce", s * b * h)],
        ),
        ("row", "row", ROW, [("all_reduce", s * b * o)], []),
        (
            "row with a whole input",
            "row",
            ROW | {"input_is_parallel": False},
            [("all_reduce", s * b * o)],
            [("all_gather", s * b * h // 2)],
        ),
        (
            "column SP",
            "column",
            COLUMN | SP,
            [("all_gather", s // 2 * b * h)],
            [("all_gather", s // 2 * b * h), ("reduce_scatter", s * b * h)],
        ),
        ("row SP", "row", ROW | SP, [("reduce_scatter", s * b * o)], [("all_gather", s // 2 * b * o)]),
    ]


def posts(events, index, phase):
    """What one rank posted in one phase of one case: (operation, elements)."""
    return [(e.op, e.numel) for e in events if e.kind == "post" and e.case == index and e.phase == phase]


@lab.contract(5, topic="sp")
def test_volume(lab):
    """Each layer makes the collectives of the table, with exactly these payloads, and none in a group of one rank."""
    table = volume(*DIMS)
    alone = [
        (f"{name}, tp = 1", kind, flags, [], []) for name, kind, flags, *_ in table if not flags["sequence_parallel"]
    ]
    cases = [case(lab, kind, flags) for _, kind, flags, *_ in table]
    lab.run("linear", ranks=2, cases=cases + [case(lab, kind, flags, tp=1) for _, kind, flags, *_ in alone])
    for rank, events in enumerate(lab.records()):
        for i, (name, _, _, forward, backward) in enumerate(table + alone):
            for phase, want in (("forward", forward), ("backward", backward)):
                got = posts(events, i, phase)
                lab.check(got == want, f"collectives of {name}, {phase}, rank {rank}", want, got)


@lab.contract(5, topic="sp")
def test_bytes_on_the_wire(lab):
    """What the ranks say they sent is what went over the wire."""
    dims = (128, 8, 128, 128)  # [s, b, h] in float64 = 1 MiB
    layers = [("column", COLUMN), ("column", COLUMN | SP), ("row", ROW | SP)]
    lab.run("linear", ranks=2, cases=[case(lab, kind, flags, dims=dims) for kind, flags in layers])
    lab.wire_agrees()


@lab.contract(6, topic="sp")
def test_saved_shard(lab):
    """Forward saves the layer's input as it came and its weight, no copy, nothing else: with SP only the shard."""
    layers = [("column", COLUMN), ("column", COLUMN | SP), ("row", ROW), ("row", ROW | SP)]
    cases = [case(lab, kind, flags, strided=False) for kind, flags in layers]
    cases += [case(lab, kind, flags, strided=True) for kind, flags in layers[:2]]  # the row layer's product is the same
    wanted = [[given["x"].numel() + given["weight"].numel() for given in c["by_rank"]] for c in cases]
    for c in cases:
        for given in c["by_rank"]:
            del given["grad"]
    out = lab.run("saved_linear", ranks=2, cases=cases)
    for rank, of_rank in enumerate(out):
        for c, got, want in zip(cases, of_rank, wanted, strict=True):
            name = f"the {c['kind']} layer, SP={c['flags']['sequence_parallel']}, strided={c['strided']}, rank {rank}"
            if got["saved"] != want[rank]:
                lab.note("strided" if c["strided"] else "contiguous")
            lab.check(got["saved"] == want[rank], f"elements saved by {name}", want[rank], got["saved"])
            if got["held"]:
                lab.note("attribute")
            lab.check(got["held"] == 0, f"elements held beside what {name} saves", 0, got["held"])


@lab.contract(7, topic="sp")
def test_overlap_order(lab):
    """Backward posts its communication before the product that does not need it, and waits after."""
    layers = [COLUMN, COLUMN | SP]
    wanted = [
        ["product", "all_reduce (async)", "product", "wait all_reduce"],
        [
            "all_gather (async)",
            "product",
            "wait all_gather",
            "reduce_scatter (async)",
            "product",
            "wait reduce_scatter",
        ],
    ]
    lab.run("linear", ranks=2, cases=[case(lab, "column", flags) for flags in layers], ops=True)
    for rank, events in enumerate(lab.records()):
        for i, want in enumerate(wanted):
            got = steps(event for event in events if event.case == i and event.phase == "backward")
            note_order(lab, got, want)
            lab.check(got == want, f"order of backward, {'SP' if i else 'no SP'}, rank {rank}", want, got)


def steps(events):
    """The order in the contract's words; waiting twice for one handle is waiting once."""
    told = [step for event in events if (step := describe(event))]
    return [step for before, step in zip(["", *told], told, strict=False) if not (step == before and "wait" in step)]


def note_order(lab, got, want):
    """Note for the diagnosis how a wrong order is wrong: blocking calls, or a reduction after both products."""
    if got == want:
        return
    if any(step in ("all_reduce", "reduce_scatter", "all_gather") for step in got):
        lab.note("blocking")
    reductions = [i for i, step in enumerate(got) if step.startswith(("all_reduce", "reduce_scatter"))]
    if reductions and got[: reductions[0]].count("product") == 2:
        lab.note("late")


def describe(event):
    """An event in the contract's words; "" for one that is no part of the order."""
    if event.kind == "op":
        return "product" if event.op in PRODUCTS else ""
    if event.kind == "wait":
        return f"wait {event.op}"
    return event.op + (" (async)" if event.async_op else "")


@lab.contract(5, topic="sp")
def test_frozen_weight(lab):
    """A frozen weight gets no gradient and costs no gather in backward; dX and db stay right."""
    s, b, h, _ = DIMS
    cases = [case(lab, "column", flags, frozen=True) for flags in (COLUMN, COLUMN | SP)]
    out = lab.run("linear", ranks=2, cases=cases)
    for i, want in enumerate(([("all_reduce", s * b * h)], [("reduce_scatter", s * b * h)])):
        by_rank = cases[i]["by_rank"]
        dx = sum(given["grad"] @ given["weight"] for given in by_rank)
        for rank, (results, events) in enumerate(zip(out, lab.records(), strict=True)):
            got = results[i]
            lab.close(got["dx"], dx.chunk(2)[rank] if i else dx, tol=1e-12, what=f"dX on rank {rank}")
            lab.close(got["db"], by_rank[rank]["grad"].sum((0, 1)), tol=1e-12, what=f"db on rank {rank}")
            lab.check(got["dw"] is None, f"a frozen weight has no gradient on rank {rank}", None, got["dw"])
            made = posts(events, i, "backward")
            lab.check(made == want, f"collectives of backward, rank {rank}", want, made)
