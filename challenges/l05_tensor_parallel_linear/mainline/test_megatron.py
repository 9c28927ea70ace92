"""The patch and megatron-core's own layers, borders and reduction, in worlds of two and of four ranks."""

import sys
from pathlib import Path

import pytest
import torch

from grading import lab

sys.path.insert(0, str(Path(__file__).parents[1] / "hidden"))
from test_finalize import gradient, parameters
from test_linear import COLUMN, PLAIN, ROW, cases_of
from test_mappings import ADJOINTS, draw

WORLDS = pytest.mark.parametrize("world", [2, 4])
WORDS = {"y": "the output", "output_bias": "the second output", "dx": "dX", "dw": "dW"}
ROUNDS = {2: 4, 4: 1}  # shapes drawn for each configuration, by ranks: four ranks share a machine's two cores
FROZEN = ("column", {"gather_output": False, "skip_bias_add": False, "sequence_parallel": True})


def groups_of(world):
    """All ranks together; of four also pairs that are no neighbours."""
    return [[[0, 1]]] if world == 2 else [[[0, 1, 2, 3]], [[0, 2], [1, 3]]]


def one_of(case, rank):
    """A case as rank `rank` gets it."""
    return {"kind": case.kind, "flags": case.flags, "groups": case.groups} | case.inputs(rank)


def both(lab, theirs, ours, world, inputs, **options):
    """By rank, what upstream and the patch return for `inputs[rank]`, a list of one dict a case."""
    by_rank = [{"inputs": of_rank} for of_rank in inputs]
    want = lab.upstream(f"mainline.{theirs}", ranks=world, by_rank=by_rank, **options)
    return lab.run(f"mainline.{ours}", ranks=world, by_rank=by_rank, **options), want


def agree(lab, got, want, inputs, tol, words):
    """Rank by rank, case by case, entry by entry of what a probe returns."""
    for rank, (mine, theirs) in enumerate(zip(got, want, strict=True)):
        for given, one, other in zip(inputs[rank], mine, theirs, strict=True):
            for key, word in words.items():
                lab.agrees(one[key], other[key], given, tol, f"{word} on rank {rank}")


@lab.contract(1, 2, 4, 8, 11, 13, topic="layers")
@pytest.mark.parametrize(
    ("world", "dtype", "tol"),
    [(2, "float64", 1e-12), (2, "float32", 1e-5), (4, "float64", 1e-12)],
    ids=["2-float64", "2-float32", "4-float64"],
)
def test_layers(lab, world, dtype, tol):
    """In every configuration outputs and gradients of both layers are those of megatron-core's layers."""
    groups, drawn = groups_of(world), {"dtype": getattr(torch, dtype)}
    cases = cases_of(lab, (COLUMN + ROW) * ROUNDS[world], *groups, **drawn)
    cases += cases_of(lab, PLAIN, groups[0], bias=False, **drawn)
    inputs = [[one_of(case, rank) for case in cases] for rank in range(world)]
    got, want = both(lab, "upstream_linear", "linear", world, inputs)
    agree(lab, got, want, inputs, tol, WORDS | {"db": "db"})


@lab.contract(4, 5, topic="layers")
@WORLDS
def test_frozen_weight(lab, world):
    """A column layer with a frozen weight sends back megatron-core's dX, and gives the weight no gradient."""
    cases = cases_of(lab, [FROZEN] * ROUNDS[world], *groups_of(world))
    inputs = [[one_of(case, rank) | {"frozen": True} for case in cases] for rank in range(world)]
    got, want = both(lab, "upstream_linear", "linear", world, inputs)
    agree(lab, got, want, inputs, 1e-12, WORDS)  # not db: megatron-core gives the bias of a frozen weight none


@lab.contract(5, topic="layers")
def test_messages(lab):
    """In every configuration each layer posts megatron-core's collectives, in its order."""
    cases = cases_of(lab, COLUMN + ROW, [[0, 1]])
    by_case = [{"by_rank": [{"inputs": [one_of(case, rank)]} for rank in range(2)]} for case in cases]
    lab.upstream("mainline.upstream_linear", ranks=2, cases=by_case)
    want = lab.records()
    lab.run("mainline.linear", ranks=2, cases=by_case)
    for rank, (mine, theirs) in enumerate(zip(lab.records(), want, strict=True)):
        for number, case in enumerate(cases):
            what = f"what rank {rank} posts"
            lab.agrees(posts(mine, number), posts(theirs, number), {"layer": case.name}, what=what)


def posts(events, number):
    """Phase, operation and elements of each post of one case, in order."""
    of_case = [event for event in events if event.kind == "post" and event.case == number]
    return "; ".join(f"{event.phase} {event.op} of {event.numel}" for event in of_case) or "nothing"


@lab.contract(3, 10, topic="adjoint")
@WORLDS
def test_borders(lab, world):
    """Each border carries a tensor there, and a gradient back, as megatron-core's does."""
    inputs = [[] for _ in range(world)]
    for groups in groups_of(world) * ROUNDS[world]:
        tp = len(groups[0])
        for name, (flags, x_side, y_side) in ADJOINTS.items():
            x, y = shapes(name, tp)
            for ranks in groups:
                for rank, *pair in zip(ranks, draw(lab, x, x_side, tp), draw(lab, y, y_side, tp), strict=True):
                    given = {"name": name.split(",")[0], "flags": flags, "groups": groups}
                    inputs[rank].append(given | dict(zip("xy", pair, strict=True)))
    got, want = both(lab, "upstream", "patch", world, inputs, name="region")
    agree(lab, got, want, inputs, 1e-12, {"Fx": "F x", "Fty": "the gradient of x"})


def shapes(name, tp):
    """(shape of x, shape of F x) on one rank; the whole tensor is [4, 2, 8]."""
    whole, thin, short = (4, 2, 8), (4, 2, 8 // tp), (4 // tp, 2, 8)
    cut = {"scatter": (whole, thin), "gather": (thin, whole), "seq_reduce_scatter": (whole, short)}
    return (short, whole) if name.startswith("seq_gather") else cut.get(name, (whole, whole))


@lab.contract(9, topic="finalize")
@WORLDS
def test_finalize(lab, world):
    """The gradients of marked parameters become what megatron-core's reduction makes of them, the others stay."""
    inputs = [[] for _ in range(world)]
    for groups, sp in [(groups, sp) for groups in groups_of(world) for sp in (True, False)] * ROUNDS[world]:
        drawn = parameters(lab)
        for rank in range(world):
            given = {"params": drawn, "groups": groups, "sequence_parallel": sp, "tp": len(groups[0])}
            inputs[rank].append(given | {"grads": [gradient(lab, param) for param in drawn]})
    got, want = both(lab, "upstream", "patch", world, inputs, name="finalize")
    agree(lab, got, want, inputs, 1e-12, {"now": "gradients", "held": "gradients in place", "plain": "grad"})


@lab.contract(8, 9, topic="finalize")
@WORLDS
def test_training(lab, world):
    """Three steps of LayerNorm → column → gelu → row, sequence-parallel, end with megatron-core's parameters."""
    (s, b, h, o), steps = (world, 2, 4, 2 * world), 3

    def drawn(*shape):
        return torch.randn(shape, generator=lab.generator, dtype=torch.float64)

    given = {"groups": [list(range(world))], "lr": 0.1, "norm": {"weight": drawn(h), "bias": drawn(h)}}
    bias = drawn(h)
    own = [
        {
            "column": {"weight": drawn(o // world, h), "bias": drawn(o // world)},
            "row": {"weight": drawn(h, o // world), "bias": bias},
            "xs": [drawn(s // world, b, h) for _ in range(steps)],
            "targets": [drawn(s // world, b, h) for _ in range(steps)],
        }
        for _ in range(world)
    ]
    inputs = [[given | of_rank] for of_rank in own]
    got, want = both(lab, "upstream", "patch", world, inputs, name="train")
    names = {name: f"{name} after {steps} steps" for name in want[0][0]}
    agree(lab, got, want, inputs, 1e-10, names)
