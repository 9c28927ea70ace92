"""Public tests of l05: the first steps. The hidden tests ask for the whole contract."""

import pytest
import torch

from grading import lab

TP = 2
FLAGS = {
    "column": {"gather_output": False, "skip_bias_add": False, "sequence_parallel": False},
    "row": {"input_is_parallel": True, "skip_bias_add": False, "sequence_parallel": False},
}


def draw(lab, *shape):
    return torch.randn(shape, generator=lab.generator, dtype=torch.float64)


def shards(kind, weight, bias):
    """What each rank holds of a dense layer."""
    if kind == "column":
        return [{"weight": w, "bias": b} for w, b in zip(weight.chunk(TP), bias.chunk(TP), strict=True)]
    return [{"weight": w, "bias": bias} for w in weight.chunk(TP, 1)]


def run(lab, kind, by_rank, groups=((0, 1),), **flags):
    groups = [list(ranks) for ranks in groups]
    return lab.run("linear", ranks=TP, kind=kind, groups=groups, flags=FLAGS[kind] | flags, by_rank=by_rank)


@lab.contract(3, topic="adjoint")
def test_copy_adds_gradients(lab):
    """The gradient of a tensor that every rank uses in its own way is the sum of what the ranks send back."""
    x, ys = draw(lab, 4, 2, 8), [draw(lab, 4, 2, 8) for _ in range(TP)]
    out = lab.run("region", ranks=TP, name="copy", groups=[[0, 1]], x=x, by_rank=[{"y": y} for y in ys])
    for rank, got in enumerate(out):
        lab.close(got["Fty"], ys[0] + ys[1], tol=1e-12, what=f"gradient of the copied tensor on rank {rank}")


@lab.contract(3, topic="adjoint")
def test_borders_give_back(lab):
    """Each of three borders hands back the gradient of what it took: of the whole tensor, or of this rank's summand."""
    whole, wide = draw(lab, 4, 2, 8), draw(lab, 4, 2, 8)
    names = {"reduce": [wide] * TP, "seq_reduce_scatter": wide.chunk(TP), "scatter": wide.chunk(TP, -1)}
    cases = [{"name": name, "by_rank": [{"y": y} for y in ys]} for name, ys in names.items()]
    out = lab.run("region", ranks=TP, cases=cases, groups=[[0, 1]], x=whole)
    for rank, of_rank in enumerate(out):
        for name, got in zip(names, of_rank, strict=True):
            lab.close(got["Fty"], wide, tol=1e-12, what=f"gradient of the input of {name} on rank {rank}")


@lab.contract(9, topic="finalize")
def test_partial_gradients_add_up(lab):
    """With sequence parallelism the ranks' gradients of a marked parameter are added, an unmarked one's are not."""
    spec = {"shape": [3, 2], "chunk": 0, "off": [], "main": False, "alone": False, "trainable": True}
    params = [spec | {"marks": ["sequence_parallel"]}, spec | {"marks": []}]
    grads = [[draw(lab, 3, 2), draw(lab, 3, 2)] for _ in range(TP)]
    by_rank = [{"grads": own} for own in grads]
    out = lab.run("finalize", ranks=TP, groups=[[0, 1]], params=params, sequence_parallel=True, tp=TP, by_rank=by_rank)
    for rank, got in enumerate(out):
        want = [grads[0][0] + grads[1][0], grads[rank][1]]
        lab.close(got["held"], want, tol=1e-12, what=f"gradients of the marked and the unmarked parameter, rank {rank}")


@lab.contract(1, 2, topic="layers")
@pytest.mark.parametrize("kind", ["column", "row"])
def test_forward(lab, kind):
    """Each rank returns its part of X Wᵀ + bias; the row layer adds its bias once."""
    x, weight, bias = draw(lab, 4, 2, 8), draw(lab, 6, 8), draw(lab, 6)
    want = x @ weight.T + bias
    inputs = [x, x] if kind == "column" else x.chunk(TP, -1)
    out = run(lab, kind, [held | {"x": part} for held, part in zip(shards(kind, weight, bias), inputs, strict=True)])
    for rank, got in enumerate(out):
        part = want.chunk(TP, -1)[rank] if kind == "column" else want
        lab.close(got["y"], part, tol=1e-12, what=f"output of rank {rank}")


@lab.contract(4, topic="layers")
def test_column_input_gradient(lab):
    """dX of the column layer is the dense layer's, whole and equal on both ranks."""
    x, weight, bias, grad = draw(lab, 4, 2, 8), draw(lab, 6, 8), draw(lab, 6), draw(lab, 4, 2, 6)
    cut = zip(shards("column", weight, bias), grad.chunk(TP, -1), strict=True)
    out = run(lab, "column", [held | {"x": x, "grad": part} for held, part in cut])
    for rank, got in enumerate(out):
        lab.close(got["dx"], grad @ weight, tol=1e-12, what=f"dX on rank {rank}")


@lab.contract(1, topic="sp")
def test_sequence_parallel_mlp(lab):
    """With sequence parallelism column → gelu → row takes and returns this rank's part of the sequence."""
    x, w1, b1, w2, b2 = draw(lab, 4, 2, 6), draw(lab, 8, 6), draw(lab, 8), draw(lab, 6, 8), draw(lab, 6)
    first = zip(shards("column", w1, b1), x.chunk(TP), strict=True)
    out = run(lab, "column", [held | {"x": part} for held, part in first], sequence_parallel=True)
    hidden = [torch.nn.functional.gelu(got["y"]) for got in out]
    second = zip(shards("row", w2, b2), hidden, strict=True)
    out = run(lab, "row", [held | {"x": part} for held, part in second], sequence_parallel=True)
    want = torch.nn.functional.gelu(x @ w1.T + b1) @ w2.T + b2
    for rank, got in enumerate(out):
        lab.close(got["y"], want.chunk(TP)[rank], tol=1e-12, what=f"output of rank {rank}")


@lab.contract(5, topic="sp")
@pytest.mark.parametrize("kind", ["column", "row"])
def test_alone_means_silent(lab, kind):
    """In a group of one rank a layer makes no collective."""
    given = {"weight": draw(lab, 6, 8), "bias": draw(lab, 6), "x": draw(lab, 4, 2, 8), "grad": draw(lab, 4, 2, 6)}
    run(lab, kind, [given] * TP, groups=((0,), (1,)))
    for rank, events in enumerate(lab.records()):
        made = [(event.op, event.numel) for event in events]
        lab.check(made == [], f"collectives on rank {rank}", [], made)
