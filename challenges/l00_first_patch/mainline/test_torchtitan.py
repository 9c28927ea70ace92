"""The patch and TorchTitan's own dist_mean on the same numbers."""

import torch

from grading import lab

LAYOUTS = [
    {"shape": [4]},
    {"shape": [2, 2], "over": "dp"},
    {"shape": [2, 2], "over": "tp"},
    {"shape": [2, 2], "over": "dp", "extra": "tp"},
    {"shape": [2, 2], "over": "tp", "extra": "dp"},
]


@lab.contract(1, 2, topic="mean")
def test_dist_mean(lab):
    """On 200 sets of four losses, over each layout of groups, the mean is that of TorchTitan's dist_mean."""
    cases = LAYOUTS * 40
    values = torch.randn(len(cases), 4, generator=lab.generator, dtype=torch.float64)
    by_rank = [{"rank_values": list(values[:, rank])} for rank in range(4)]
    theirs = lab.upstream("mainline.upstream", ranks=4, cases=[{"cases": cases}], by_rank=by_rank)
    ours = lab.run("mainline.patch", ranks=4, cases=[{"cases": cases}], by_rank=by_rank)
    for rank, ([got], [want]) in enumerate(zip(ours, theirs, strict=True)):
        for case, x, mine, upstreams in zip(cases, values, got, want, strict=True):
            lab.agrees(mine, upstreams, {"losses": x, **case}, 1e-12, f"mean on rank {rank}")
