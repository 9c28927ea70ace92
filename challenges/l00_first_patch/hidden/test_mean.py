"""The mean, the groups it is taken over, and what it costs."""

import pytest
import torch

from grading import lab

MESH = [[0, 1], [2, 3]]  # dp down, tp across


def draw(lab, dtype=torch.float64):
    return [torch.randn((), generator=lab.generator, dtype=dtype) for _ in range(4)]


def ask(lab, xs, op="mean", **given):
    return lab.run("reduced", ranks=4, op=op, by_rank=[{"x": x} for x in xs], **given)


def pair_mean(xs, over):
    """By rank, the mean of `xs` over dimension `over` of the 2 × 2 mesh."""
    groups = MESH if over == "tp" else list(zip(*MESH, strict=True))
    mine = {rank: group for group in groups for rank in group}
    return [sum(xs[i] for i in mine[rank]) / 2 for rank in range(4)]


def note_what_it_is(lab, got, **others):
    """For the diagnosis: which other number of the four a rank reports instead of the mean."""
    for name, number in others.items():
        if isinstance(got, float) and abs(got - number.item()) < 1e-6:
            lab.note(name)


@lab.contract(1, topic="mean")
@pytest.mark.parametrize(("dtype", "tol"), [(torch.float32, 1e-6), (torch.float64, 1e-12)], ids=["fp32", "fp64"])
def test_mean(lab, dtype, tol):
    """The result is the mean over all ranks of the group, a Python float, on every rank."""
    xs = draw(lab, dtype)
    want = (sum(x.double() for x in xs) / 4).item()
    for rank, got in enumerate(ask(lab, xs, shape=[4])):
        note_what_it_is(lab, got["out"], sum=sum(xs), maximum=max(xs), own=xs[rank])
        lab.check(got["type"] == "float", f"type of the result on rank {rank}", "float", got["type"])
        lab.close(got["out"], want, tol=tol, what=f"mean on rank {rank}")


@lab.contract(2, topic="groups")
@pytest.mark.parametrize("over", ["dp", "tp"])
def test_one_dimension(lab, over):
    """Only the ranks of the mesh's own group count."""
    xs = draw(lab)
    for rank, (got, want) in enumerate(zip(ask(lab, xs, shape=[2, 2], over=over), pair_mean(xs, over), strict=True)):
        note_what_it_is(lab, got["out"], everybody=sum(xs) / 4)
        lab.close(got["out"], want.item(), tol=1e-12, what=f"mean over {over} on rank {rank}")


@lab.contract(2, topic="groups")
def test_extra_group(lab):
    """With an extra group its mean is taken first, and the mesh's mean is taken of that."""
    xs = draw(lab)
    both = ask(lab, xs, shape=[2, 2], over="dp", extra="tp")
    only = ask(lab, xs, shape=[2, 2], extra="tp")
    for rank, (got, want) in enumerate(zip(only, pair_mean(xs, "tp"), strict=True)):
        lab.close(got["out"], want.item(), tol=1e-12, what=f"mean over the extra group alone, rank {rank}")
        lab.close(both[rank]["out"], (sum(xs) / 4).item(), tol=1e-12, what=f"mean over both groups, rank {rank}")


@lab.contract(2, topic="groups")
def test_no_group(lab):
    """Without a group the result is the rank's own number, and no process group is needed."""
    [x, *_] = draw(lab)
    [got] = lab.run("alone", x=x)
    lab.check(got["type"] == "float", "type of the result", "float", got["type"])
    lab.close(got["out"], x.item(), what="the rank's own number")


@lab.contract(3, topic="manners")
@pytest.mark.parametrize("grad", [False, True], ids=["plain", "grad"])
def test_input_is_left_alone(lab, grad):
    """x keeps its value: the caller goes on with its own loss."""
    xs = draw(lab)
    for rank, (got, x) in enumerate(zip(ask(lab, xs, shape=[4], grad=grad), xs, strict=True)):
        lab.close(got["x"], x, what=f"x after the call on rank {rank}")


@lab.contract(4, topic="traffic")
def test_traffic(lab):
    """One all_reduce of one element for each group that is given, and nothing else."""
    xs = draw(lab)
    cases = [{"over": over, "extra": extra} for over in ("dp", None) for extra in ("tp", None)]
    ask(lab, xs, shape=[2, 2], cases=cases)
    for rank, events in enumerate(lab.records()):
        for index, case in enumerate(cases):
            posts = [(e.op, e.numel) for e in events if e.kind == "post" and e.case == index]
            want = [("all_reduce", 1)] * sum(group is not None for group in case.values())
            for op in {op for op, _ in posts} - {"all_reduce"}:
                lab.note(op)
            lab.check(posts == want, f"collectives with {case}, rank {rank}", want, posts)


@lab.guard
def test_given_maximum(lab):
    """dist_max still finds the largest."""
    xs = draw(lab)
    for rank, got in enumerate(ask(lab, xs, "max", shape=[4])):
        lab.close(got["out"], max(xs).item(), what=f"maximum on rank {rank}")
