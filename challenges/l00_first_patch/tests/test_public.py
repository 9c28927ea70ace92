"""Public tests of l00. The hidden tests ask for the whole contract, on other numbers."""

import torch

from grading import lab


@lab.guard
def test_machine(lab):
    """Four processes with the pinned torch meet over gloo on this machine."""
    for rank, got in enumerate(lab.run("machine", ranks=4)):
        lab.check(got["torch"].startswith("2.13."), f"torch on rank {rank}", "2.13.x", got["torch"])
        lab.check(got["backend"] == "gloo", f"backend on rank {rank}", "gloo", got["backend"])
        lab.close(got["ranks"], torch.tensor([4.0]), what=f"sum of ones on rank {rank}")


@lab.guard
def test_given_maximum(lab):
    """dist_max, which is given, finds the largest of four losses."""
    losses = [torch.tensor(x) for x in (2.0, 4.0, 1.0, 5.0)]
    for rank, got in enumerate(lab.run("reduced", ranks=4, op="max", shape=[4], by_rank=[{"x": x} for x in losses])):
        lab.close(got["out"], 5.0, what=f"maximum on rank {rank}")


@lab.contract(1, topic="mean")
def test_the_story(lab):
    """The losses 2, 4, 1 and 5 are logged as 3 on every rank."""
    losses = [torch.tensor(x) for x in (2.0, 4.0, 1.0, 5.0)]
    for rank, got in enumerate(lab.run("reduced", ranks=4, op="mean", shape=[4], by_rank=[{"x": x} for x in losses])):
        lab.close(got["out"], 3.0, tol=1e-6, what=f"mean on rank {rank}")


@lab.contract(2, topic="groups")
def test_pairs(lab):
    """Over `dp` of a 2 × 2 mesh, ranks 0 and 2 have their mean, and ranks 1 and 3 have theirs."""
    losses = [torch.tensor(x) for x in (2.0, 4.0, 1.0, 5.0)]
    by_rank = [{"x": x} for x in losses]
    out = lab.run("reduced", ranks=4, op="mean", shape=[2, 2], over="dp", by_rank=by_rank)
    for rank, (got, want) in enumerate(zip(out, [1.5, 4.5, 1.5, 4.5], strict=True)):
        lab.close(got["out"], want, tol=1e-6, what=f"mean over dp on rank {rank}")
