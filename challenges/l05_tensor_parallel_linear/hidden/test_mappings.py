"""Adjoints of the six borders of a tensor-parallel region."""

import contextlib

import torch

from grading import lab

# name: (flags, side of x, side of y). A "same" side is equal on all ranks and counts once; an "own" side differs by
# rank and adds up.
BORDERS = {
    "copy": ({}, "same", "own"),
    "reduce": ({}, "own", "same"),
    "scatter": ({}, "same", "own"),
    "gather": ({}, "own", "same"),
    "seq_gather": ({"tensor_parallel_output_grad": True}, "own", "own"),
    "seq_reduce_scatter": ({}, "own", "own"),
}
ALIKE = "seq_gather, used alike"  # its flag's other value
ADJOINTS = BORDERS | {ALIKE: ({"tensor_parallel_output_grad": False}, "own", "same")}


def shapes(name, tp):
    """(shape of x, shape of F x) on one rank; the whole tensor is [6, 2, 12]."""
    whole, thin, short = (6, 2, 12), (6, 2, 12 // tp), (6 // tp, 2, 12)
    return {
        "scatter": (whole, thin),
        "gather": (thin, whole),
        "seq_gather": (short, whole),
        ALIKE: (short, whole),
        "seq_reduce_scatter": (whole, short),
    }.get(name, (whole, whole))


def draw(lab, shape, side, tp):
    """One tensor a rank: the same for all, or each its own."""
    tensors = [torch.randn(shape, generator=lab.generator, dtype=torch.float64) for _ in range(tp)]
    return tensors if side == "own" else tensors[:1] * tp


def inner(a, b, side):
    """The inner product of two tensors spread over ranks."""
    products = [torch.sum(left * right).item() for left, right in zip(a, b, strict=True)]
    return sum(products) if side == "own" else products[0]


@lab.contract(3, topic="adjoint")
def test_adjoint_identity(lab):
    """Each backward is the adjoint of its forward: ⟨F x, y⟩ = ⟨x, Fᵀ y⟩, and Fᵀ y is equal on ranks where x is."""
    ranks, tp = [0, 2, 3], 3
    xs = {name: draw(lab, shapes(name, tp)[0], ADJOINTS[name][1], tp) for name in ADJOINTS}
    ys = {name: draw(lab, shapes(name, tp)[1], ADJOINTS[name][2], tp) for name in ADJOINTS}
    alone = {"x": draw(lab, (6, 2, 12), "own", 1)[0], "y": draw(lab, (6, 2, 12), "own", 1)[0]}  # rank 1
    cases = []
    for name, (flags, _, _) in ADJOINTS.items():
        by_rank = [{"x": x, "y": y} for x, y in zip(xs[name], ys[name], strict=True)]
        cases.append({"name": name.split(",")[0], "flags": flags, "by_rank": [by_rank[0], alone, *by_rank[1:]]})
    out = lab.run("region", ranks=4, cases=cases, groups=[ranks, [1]])
    for i, name in enumerate(ADJOINTS):
        check_border(lab, name, xs[name], ys[name], [out[rank][i] for rank in ranks])
        with lab_note(lab, name):
            lab.close(out[1][i], {"Fx": alone["x"], "Fty": alone["y"]}, what=f"{name} in a group of one rank")


def check_border(lab, name, xs, ys, out):
    """The identity for one border; the note names the border that breaks it."""
    _, x_side, y_side = ADJOINTS[name]
    fxs, ftys = [rank["Fx"] for rank in out], [rank["Fty"] for rank in out]
    constant = ["constant"] if all(fty.min() == fty.max() for fty in ftys) else []
    with lab_note(lab, name, *constant):
        for rank, fty in enumerate(ftys):
            lab.check(
                fty.shape == xs[rank].shape, f"{name}: Fᵀ y has x's shape on rank {rank}", xs[rank].shape, fty.shape
            )
            if x_side == "same":
                lab.close(fty, ftys[0], tol=1e-12, what=f"{name}: Fᵀ y on rank {rank} against rank 0")
        left, right = inner(fxs, ys, y_side), inner(xs, ftys, x_side)
        near = abs(left - right) <= 1e-12 * max(1.0, abs(left))
        lab.check(near, f"{name}: ⟨F x, y⟩ = ⟨x, Fᵀ y⟩", left, right)


@contextlib.contextmanager
def lab_note(lab, *features):
    """Note the features when the checks inside fail."""
    try:
        yield
    except BaseException:
        lab.note(*features)
        raise


@lab.contract(3, topic="adjoint")
def test_gather_seq_flag(lab):
    """After a sequence gather, a sharded consumer's gradients are summed and cut, a duplicated one's are only cut."""
    tp = 2
    xs = draw(lab, (2, 3, 4), "own", tp)
    y = draw(lab, (2 * tp, 3, 4), "same", tp)[0]
    cases = [
        {"name": "seq_gather", "flags": {"tensor_parallel_output_grad": flag}, "by_rank": [{"x": x} for x in xs]}
        for flag in (True, False)
    ]
    out = lab.run("region", ranks=tp, cases=cases, groups=[list(range(tp))], y=y)
    for rank, (sharded, duplicated) in enumerate(out):
        lab.close(sharded["Fx"], torch.cat(xs), what=f"gathered sequence on rank {rank}")
        own = y.chunk(tp)[rank]
        lab.close(duplicated["Fty"], own, tol=1e-12, what=f"flag False, rank {rank}")
        lab.close(sharded["Fty"], tp * own, tol=1e-12, what=f"flag True, rank {rank}")


@lab.contract(10, topic="adjoint")
def test_shared_grad(lab):
    """A residual branch built before the border keeps its own gradient: no backward writes into the one they share."""
    tp = 2
    sides = {
        name: (draw(lab, shapes(name, tp)[0], "own", tp), draw(lab, shapes(name, tp)[1], "same", tp))
        for name in BORDERS
    }
    cases = [
        {"name": name, "by_rank": [{"x": x, "y": y, "w": torch.zeros_like(y)} for x, y in zip(xs, ys, strict=True)]}
        for name, (xs, ys) in sides.items()
    ]
    out = lab.run("shared_region", ranks=tp, cases=cases, groups=[list(range(tp))])
    for i, (name, (xs, ys)) in enumerate(sides.items()):
        for rank, results in enumerate(out):
            with lab_note(lab, name):
                lab.close(results[i]["dw"], 3 * ys[rank], what=f"{name}: the residual's gradient on rank {rank}")
                lab.close(
                    results[i]["shared"], ys[rank], what=f"{name}: the upstream gradient afterwards on rank {rank}"
                )
                lab.close(results[i]["x"], xs[rank], what=f"{name}: the input afterwards on rank {rank}")


@lab.guard
@lab.contract(12, 13, topic="adjoint")
def test_given_borders(lab):
    """The given forwards refuse a sequence that tp does not divide, and a missing group."""
    x = torch.randn(3, 1, 2, generator=lab.generator, dtype=torch.float64)
    cases = [{"name": "seq_reduce_scatter", "groups": [[0, 1]]}] + [{"name": name, "groups": None} for name in BORDERS]
    out = lab.run("region", ranks=2, cases=cases, x=x, y=x, errors=True)
    words = ["First dimension of the tensor should be divisible by tensor parallel size"]
    words += ["group should not be None"] * len(BORDERS)
    for rank, results in enumerate(out):
        for case, want, got in zip(cases, words, results, strict=True):
            refused = isinstance(got, lab.Error) and (got.type, got.message) == ("AssertionError", want)
            lab.check(refused, f"{case['name']} refuses on rank {rank}", f"AssertionError: {want}", str(got))
