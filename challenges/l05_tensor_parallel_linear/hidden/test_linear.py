"""Values: both layers against a dense layer in one process, in every configuration."""

import functools
import itertools

import pytest
import torch

from grading import lab

COLUMN = [
    ("column", {"gather_output": gather, "skip_bias_add": skip, "sequence_parallel": sp})
    for gather, skip, sp in itertools.product((False, True), repeat=3)
]
ROW = [
    ("row", {"input_is_parallel": parallel, "skip_bias_add": skip, "sequence_parallel": sp})
    for parallel, skip, sp in itertools.product((False, True), repeat=3)
    if parallel or not sp
]
PLAIN = [(kind, flags) for kind, flags in COLUMN + ROW if not flags["skip_bias_add"]]


class Dense:
    """A dense layer with its gradients, and what each of `tp` ranks holds of it."""

    def __init__(self, lab, tp, dtype=torch.float64, bias=True, least=1):
        s, h, o = (tp * lab.random.randint(least, 3) for _ in range(3))
        b = lab.random.randint(least, 3)
        shapes = {"x": (s, b, h), "w": (o, h), "b": (o,), "g": (s, b, o), "v": (o,)}
        drawn = {k: torch.randn(v, generator=lab.generator, dtype=torch.float64) for k, v in shapes.items()}
        self.tp, self.dtype = tp, dtype
        self.x, self.w, self.b, self.g, self.v = (drawn[name].to(dtype) for name in shapes)
        self.b = self.b if bias else None

    @functools.cached_property
    def whole(self):
        """The dense layer's output (without bias) and gradients, in float64."""
        x, w, g = (tensor.double() for tensor in (self.x, self.w, self.g))
        return {"y": x @ w.T, "dx": g @ w, "dw": g.flatten(0, 1).T @ x.flatten(0, 1), "db": g.sum((0, 1))}

    def cut(self, tensor, dim, rank):
        """This rank's part along `dim`; all of it where `dim` is None."""
        return tensor if tensor is None or dim is None else tensor.chunk(self.tp, dim)[rank]

    def inputs(self, kind, flags, rank):
        """What rank `rank` is given: weight, bias, x and the gradients of its outputs."""
        sp = flags["sequence_parallel"]
        second = {"bias_grad": self.cut(self.v, 0 if kind == "column" else None, rank)}
        if not flags["skip_bias_add"]:
            second = {}
        if kind == "column":
            return second | {
                "weight": self.cut(self.w, 0, rank),
                "bias": self.cut(self.b, 0, rank),
                "x": self.cut(self.x, 0 if sp else None, rank),
                "grad": self.cut(self.g, None if flags["gather_output"] else -1, rank),
            }
        return second | {
            "weight": self.cut(self.w, 1, rank),
            "bias": self.b,
            "x": self.cut(self.x, -1 if flags["input_is_parallel"] else None, rank),
            "grad": self.cut(self.g, 0 if sp else None, rank),
        }

    def wanted(self, kind, flags, rank):
        """What rank `rank` should return: the whole, cut, rounded once."""
        sp, whole = flags["sequence_parallel"], dict(self.whole)
        if self.b is not None and not flags["skip_bias_add"]:
            whole["y"] = whole["y"] + self.b.double()
        if kind == "column":
            dims = {"y": None if flags["gather_output"] else -1, "dx": 0 if sp else None, "dw": 0, "db": 0}
        else:
            dims = {"y": 0 if sp else None, "dx": -1 if flags["input_is_parallel"] else None, "dw": 1, "db": None}
            if sp:  # the replicated row bias sees only this rank's part of the sequence
                whole["db"] = self.cut(self.g.double(), 0, rank).sum((0, 1))
        if self.b is None or flags["skip_bias_add"]:  # then only the second output tells of the bias
            whole["db"] = None if self.b is None else self.v.double()
        parts = {name: self.cut(tensor, dims[name], rank) for name, tensor in whole.items()}
        return {name: tensor if tensor is None else tensor.to(self.dtype) for name, tensor in parts.items()}


class Case:
    """One layer in one configuration; every group of ranks has a dense layer of its own."""

    def __init__(self, lab, kind, flags, groups, **options):
        self.kind, self.flags, self.groups = kind, flags, groups
        self.dense = [Dense(lab, len(ranks), **options) for ranks in groups]
        pairs = ", ".join(f"{name}={value}" for name, value in flags.items())
        self.name = f"{kind}, groups {groups}, {pairs}"

    def place(self, rank):
        """(the dense layer of this rank's group, its place in the group)."""
        return next((d, ranks.index(rank)) for d, ranks in zip(self.dense, self.groups, strict=True) if rank in ranks)

    def inputs(self, rank):
        dense, place = self.place(rank)
        return dense.inputs(self.kind, self.flags, place)

    def wanted(self, rank):
        dense, place = self.place(rank)
        return dense.wanted(self.kind, self.flags, place)

    def message(self, drop=()):
        """The case as a probe gets it, without the inputs in `drop`."""
        ranks = sorted(itertools.chain(*self.groups))
        by_rank = [{k: v for k, v in self.inputs(rank).items() if k not in drop} for rank in ranks]
        return {"kind": self.kind, "flags": self.flags, "groups": self.groups, "by_rank": by_rank}


def cases_of(lab, layers, *group_lists, **options):
    """A case for each layer in each list of groups; sequence parallelism needs two ranks."""
    return [
        Case(lab, kind, flags, groups, **options)
        for groups in group_lists
        for kind, flags in layers
        if len(groups[0]) > 1 or not flags["sequence_parallel"]
    ]


def results(cases, out):
    """(case, rank, what the rank returned), over all cases and ranks."""
    return [(case, rank, of_rank[i]) for i, case in enumerate(cases) for rank, of_rank in enumerate(out)]


def compare(lab, cases, out, keys, tol):
    """Every rank's result of every case against the dense layer."""
    for case, rank, got in results(cases, out):
        wanted = case.wanted(rank)
        for key in keys:
            what = f"{key} on rank {rank} ({case.name})"
            try:
                lab.close(got[key], wanted[key], tol=tol, what=what)
            except AssertionError:
                note_factor(lab, got[key], wanted[key], case.dense[0].tp)
                raise


def note_factor(lab, got, want, tp):
    """Note for the diagnosis that a value is wrong by exactly the factor tp."""
    if tp > 1 and isinstance(got, torch.Tensor) and got.shape == want.shape and want.abs().max() > 0:
        for name, factor in (("times tp", tp), ("divided by tp", 1 / tp)):
            if torch.allclose(got.double(), want.double() * factor, rtol=1e-9, atol=1e-12):
                lab.note(name)


def every_case(lab, world):
    """Two ranks: every pair of flags, together and each rank alone, and layers without bias. Four: the main flags."""
    if world == 2:
        return cases_of(lab, COLUMN + ROW, [[0, 1]], [[0], [1]]) + cases_of(lab, PLAIN, [[0, 1]], bias=False)
    return cases_of(lab, PLAIN, [list(range(world))])


@lab.contract(1, 2, topic="layers")
def test_forward_dense(lab):
    """Both layers return this rank's part of X Wᵀ + bias, for every pair of flags; the row bias is added once."""
    cases = every_case(lab, 2)
    out = lab.run("linear", ranks=2, cases=[case.message(drop=["grad"]) for case in cases])
    compare(lab, cases, out, ["y"], tol=1e-12)
    for case, rank, got in results(cases, out):
        bias = case.inputs(rank)["bias"] if case.flags["skip_bias_add"] else None
        lab.close(got["output_bias"], bias, what=f"second output on rank {rank} ({case.name})")


@lab.contract(4, 8, topic="layers")
@pytest.mark.parametrize("world", [2, 4])
def test_backward_dense(lab, world):
    """dX, dW and db equal the dense layer's slices on every rank, for every pair of flags and a random gradient."""
    cases = every_case(lab, world)
    out = lab.run("linear", ranks=world, cases=[case.message() for case in cases])
    compare(lab, cases, out, ["y", "dx", "dw", "db"] if world == 4 else ["dx", "dw", "db"], tol=1e-12)


@lab.contract(4, topic="layers")
def test_row_full_input_grad(lab):
    """A row layer that cuts its input itself returns all columns of dX on every rank, not only its own."""
    flags = {"input_is_parallel": False, "skip_bias_add": False, "sequence_parallel": False}
    cases = cases_of(lab, [("row", flags)], [[0, 1]])
    out = lab.run("linear", ranks=2, cases=[case.message() for case in cases])
    for case, rank, got in results(cases, out):
        other = [part for i, part in enumerate(case.wanted(rank)["dx"].chunk(2, -1)) if i != rank]
        lab.check(got["dx"].shape == case.dense[0].x.shape, f"dX on rank {rank} has X's shape")
        theirs = [part for i, part in enumerate(got["dx"].chunk(2, -1)) if i != rank]
        lab.close(theirs, other, tol=1e-12, what=f"the other rank's columns of dX on rank {rank}")


@lab.contract(13, topic="layers")
def test_subgroup(lab):
    """In a world of four with groups [0, 2] and [1, 3], each group computes its own layer."""
    cases = cases_of(lab, PLAIN, [[0, 2], [1, 3]])
    out = lab.run("linear", ranks=4, cases=[case.message() for case in cases])
    compare(lab, cases, out, ["y", "dx", "dw", "db"], tol=1e-12)


@lab.contract(11, topic="layers")
def test_low_precision(lab):
    """Output and gradients have the input's dtype and stay close to the dense layer, in float32 and bfloat16."""
    single = cases_of(lab, PLAIN, [[0, 1]], dtype=torch.float32)
    half = cases_of(lab, PLAIN, [[0, 1]], dtype=torch.bfloat16)
    out = lab.run("linear", ranks=2, cases=[case.message() for case in single + half])
    compare(lab, single, [of_rank[: len(single)] for of_rank in out], ["y", "dx", "dw", "db"], tol=1e-5)
    compare(lab, half, [of_rank[len(single) :] for of_rank in out], ["y", "dx", "dw", "db"], tol=2e-2)


@lab.contract(11, topic="layers")
def test_strided(lab):
    """A transposed input and an expanded gradient, as sum() makes it, give the dense layer's values."""
    cases = cases_of(lab, PLAIN, [[0, 1]], least=2)
    for case in cases:  # one gradient for the whole sequence, cut like the output's last dim
        dense = case.dense[0]
        dense.g = dense.g[:1].expand(dense.g.shape)
    messages = [case.message() for case in cases]
    for given in itertools.chain(*(message["by_rank"] for message in messages)):
        given["grad"] = given["grad"][0]
    out = lab.run("strided_linear", ranks=2, cases=messages)
    compare(lab, cases, out, ["y", "dx", "dw", "db"], tol=1e-12)


@lab.contract(10, topic="adjoint")
def test_not_mutated(lab):
    """Inputs, upstream gradients and parameters keep their bits, also where a residual branch shares the gradient."""
    cases = cases_of(lab, PLAIN, [[0, 1]], [[0], [1]])
    messages = [case.message() for case in cases]
    for given in itertools.chain(*(message["by_rank"] for message in messages)):
        given["w"] = torch.randn(given["grad"].shape, generator=lab.generator, dtype=torch.float64)
    out = lab.run("shared_linear", ranks=2, cases=messages)
    for case, rank, got in results(cases, out):
        given = case.inputs(rank)
        for name in ("grad", "x", "weight", "bias"):
            lab.close(got[name], given[name], what=f"{name} after the step on rank {rank} ({case.name})")
        lab.close(got["residual"], 3 * given["grad"], what=f"residual's gradient on rank {rank} ({case.name})")
