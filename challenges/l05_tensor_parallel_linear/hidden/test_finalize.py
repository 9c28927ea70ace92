"""The reduction that autograd cannot do, and what the given code promises."""

import itertools

import torch

from grading import lab

SEQUENCE, AVERAGE = "sequence_parallel", "average_gradients_across_tp_domain"


def parameters(lab):
    """Nine parameters in two chunks: every kind of mark, true or not; main_grad, with and without grad; neither."""
    kinds = [
        {"marks": [SEQUENCE], "off": [AVERAGE]},
        {"marks": [SEQUENCE], "main": True, "alone": True},
        {"marks": [AVERAGE]},
        {"marks": [AVERAGE, SEQUENCE], "main": True},
        {"marks": []},
        {"marks": [], "off": [AVERAGE, SEQUENCE]},
        {"marks": [SEQUENCE], "trainable": False},
        {"marks": [SEQUENCE], "grad": False},
        {"marks": [AVERAGE], "grad": False},
    ]
    lab.random.shuffle(kinds)
    return [
        {"off": [], "main": False, "alone": False, "trainable": True, "grad": True, "chunk": i % 2}
        | {"shape": [lab.random.randint(2, 4), lab.random.randint(2, 4)]}
        | kind
        for i, kind in enumerate(kinds)
    ]


def gradient(lab, param):
    """A float64 gradient, float32 in main_grad, or None."""
    if not param["grad"]:
        return None
    drawn = torch.randint(1, 65, param["shape"], generator=lab.generator)
    return drawn.to(torch.float32 if param["main"] else torch.float64)


def reduced(param, grads, sp, own):
    """What the two marks make of one parameter's gradients (one a rank of the group) on the group's rank `own`."""
    if len(grads) == 1 or grads[0] is None or not param["trainable"]:
        return grads[own]
    if AVERAGE in param["marks"]:
        return sum(grads) / len(grads)
    return sum(grads) if sp and SEQUENCE in param["marks"] else grads[own]


@lab.contract(9, topic="finalize")
def test_finalize_sum_avg(lab):
    """Marked gradients are summed or averaged in place, in one all_reduce a kind; everything else is untouched."""
    pairs = [[0, 2], [1, 3]]
    worlds = [(2, True, pairs), (2, False, pairs), (1, False, [[0], [1], [2], [3]])]
    params = [parameters(lab) for _ in worlds]
    grads = [[[gradient(lab, p) for p in drawn] for _ in range(4)] for drawn in params]
    cases = [
        {"params": p, "groups": groups, "sequence_parallel": sp, "tp": tp, "by_rank": [{"grads": g} for g in grad]}
        for p, grad, (tp, sp, groups) in zip(params, grads, worlds, strict=True)
    ]
    out = lab.run("finalize", ranks=4, cases=cases)
    wrong, noted = [], set()
    for i, (tp, sp, groups) in enumerate(worlds):
        for ranks, (j, param) in itertools.product(groups, enumerate(params[i])):
            for own, rank in enumerate(ranks):
                want = reduced(param, [grads[i][r][j] for r in ranks], sp, own)
                what = f"gradient of a parameter with marks {param['marks']}, tp={tp}, SP={sp}, rank {rank}"
                for key, mismatch in mismatches(lab, out[rank][i], j, want, what):
                    wrong.append(mismatch)
                    noted |= features(i, param, key) | factor(out[rank][i][key][j], want)
    if wrong:
        lab.note(*sorted(noted))
        raise wrong[0]
    check_plain(lab, params, out)
    check_calls(lab, params, worlds)


def check_plain(lab, params, out):
    """Where there is a main_grad, `grad` is left alone."""
    for rank, of_rank in enumerate(out):
        for drawn, got in zip(params, of_rank, strict=True):
            for param, plain in zip(drawn, got["plain"], strict=True):
                there = param["main"] and not param["alone"]
                want = torch.full(param["shape"], -1.0, dtype=torch.float64) if there else None
                lab.close(plain, want, what=f"grad of a parameter that has a main_grad, rank {rank}")


def mismatches(lab, got, j, want, what):
    """Where gradient j is wrong: in the tensor that the parameter has now, in the one that it had ("held")."""
    found = []
    for key, place in (("now", ""), ("held", ", in the tensor that held it before the call")):
        try:
            if want is None:
                lab.check(got[key][j] is None, f"{what}: none appears", None, got[key][j])
            else:
                lab.close(got[key][j], want, tol=1e-12, what=what + place)
        except AssertionError as mismatch:
            found.append((key, mismatch))
    return found


def features(world, param, key):
    """What a wrong gradient has to do with, for the diagnosis."""
    kind = "average" if AVERAGE in param["marks"] else "sum" if SEQUENCE in param["marks"] else "unmarked"
    place = "grad" if not param["main"] else "main_grad alone" if param["alone"] else "main_grad"
    return {kind, place, ("SP", "no SP", "tp=1")[world], key}


def factor(got, want):
    """The feature that a gradient is wrong by a factor of two, the groups' size."""
    if not isinstance(got, torch.Tensor) or want is None:
        return set()
    return {f"times {ratio}" for ratio in (2, 0.5) if torch.equal(got.double(), want.double() * ratio)}


def check_calls(lab, params, worlds):
    """One all_reduce for each kind that has gradients, with all its elements."""
    for rank, events in enumerate(lab.records()):
        for i, (tp, sp, _) in enumerate(worlds):
            live = [p for p in params[i] if p["grad"] and p["trainable"]]
            average = [p for p in live if AVERAGE in p["marks"]]
            total = [p for p in live if SEQUENCE in p["marks"] and p not in average] if sp else []
            numels = [sum(p["shape"][0] * p["shape"][1] for p in kind) for kind in (total, average) if kind]
            want = sorted(("all_reduce", n) for n in numels) if tp > 1 else []
            got = sorted((e.op, e.numel) for e in events if e.case == i and e.kind == "post")
            lab.check(got == want, f"collectives at tp={tp}, SP={sp}, rank {rank}", want, got)


def dense_training(norm, column, row, xs, targets, lr):
    """The same block in one process, without parallelism."""
    params = {
        f"{part}.{k}": v.clone().requires_grad_()
        for part, d in zip(NAMES, (norm, column, row), strict=True)
        for k, v in d.items()
    }
    for x, target in zip(xs, targets, strict=True):
        y = torch.nn.functional.layer_norm(x, x.shape[-1:], params["norm.weight"], params["norm.bias"])
        y = torch.nn.functional.gelu(y @ params["column.weight"].T + params["column.bias"])
        y = y @ params["row.weight"].T + params["row.bias"]
        grads = torch.autograd.grad((y - target).square().mean(), list(params.values()))
        with torch.no_grad():
            for param, grad in zip(params.values(), grads, strict=True):
                param -= lr * grad
    return {name: param.detach() for name, param in params.items()}


NAMES = ("norm", "column", "row")
CUTS = {"column.weight": 0, "column.bias": 0, "row.weight": 1}


@lab.contract(8, 9, topic="finalize")
def test_sp_block_equals_tp1(lab):
    """Three steps of LayerNorm → column → gelu → row with sequence parallelism give the parameters of one process."""
    tp, (s, b, h, o) = 2, (4, 2, 6, 8)
    draw = lambda *shape: torch.randn(shape, generator=lab.generator, dtype=torch.float64)  # noqa: E731
    norm = {"weight": draw(h), "bias": draw(h)}
    column, row = {"weight": draw(o, h), "bias": draw(o)}, {"weight": draw(h, o), "bias": draw(h)}
    xs, targets = [draw(s, b, h) for _ in range(3)], [draw(s, b, h) for _ in range(3)]
    by_rank = [
        {
            "column": {key: value.chunk(tp)[r] for key, value in column.items()},
            "row": {"weight": row["weight"].chunk(tp, 1)[r], "bias": row["bias"]},
            "xs": [x.chunk(tp)[r] for x in xs],
            "targets": [target.chunk(tp)[r] for target in targets],
        }
        for r in range(tp)
    ]
    out = lab.run("train", ranks=tp, groups=[[0, 1]], norm=norm, lr=0.1, by_rank=by_rank)
    want = dense_training(norm, column, row, xs, targets, 0.1)
    for rank, got in enumerate(out):
        for name, tensor in want.items():
            part = tensor.chunk(tp, CUTS[name])[rank] if name in CUTS else tensor
            lab.close(got[name], part, tol=1e-10, what=f"{name} after 3 steps on rank {rank}")
            if name not in CUTS:
                lab.close(got[name], out[0][name], what=f"{name}: rank {rank} and rank 0 drift apart")


@lab.guard
@lab.contract(12, 13, topic="layers")
def test_given_checks(lab):
    """The given constructors and borders refuse what cannot be cut, with upstream's words."""
    sp, whole, words = {"sequence_parallel": True}, {"input_is_parallel": False}, "`input_is_parallel` must be `True`"
    refusals = [
        ({"kind": "column", "sizes": [4, 7], "flags": {}}, "AssertionError", "7 is not divisible by 2"),
        ({"kind": "row", "sizes": [5, 4], "flags": {}}, "AssertionError", "5 is not divisible by 2"),
        (
            {"kind": "row", "sizes": [4, 4], "flags": sp | whole},
            "RuntimeError",
            f"To enable `sequence_parallel`, {words}",
        ),
        (
            {"kind": "column", "sizes": [4, 4], "flags": {}, "groups": None},
            "AssertionError",
            "tp_group should not be None",
        ),
        (
            {"kind": "row", "sizes": [4, 4], "flags": {}, "groups": None},
            "AssertionError",
            "tp_group should not be None",
        ),
    ]
    layers = [
        ({"kind": "row", "sizes": [4, 6], "flags": sp}, {"weight": [6, 2], "bias": [6], "partial_bias_grad": True}),
        ({"kind": "column", "sizes": [4, 6], "flags": sp}, {"weight": [3, 4], "bias": [3], "partial_bias_grad": False}),
    ]
    cases = [case for case, *_ in refusals + layers]
    out = lab.run("construct", ranks=2, cases=cases, groups=[[0, 1]], errors=True)
    for rank, of_rank in enumerate(out):
        for (case, error, message), got in zip(refusals, of_rank, strict=False):
            refused = isinstance(got, lab.Error) and (got.type, got.message) == (error, message)
            lab.check(refused, f"{case} is refused on rank {rank}", f"{error}: {message}", str(got))
        lab.close(
            of_rank[len(refusals) :], [want for _, want in layers], what=f"what the constructors decide on rank {rank}"
        )
