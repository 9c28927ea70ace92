"""The patch and verl's own compute_gae_advantage_return on the same inputs, small ones first."""

import pytest
import torch

from grading import lab

CASES = 200


def drawn(lab, number, dtype):
    """Random rows with holes in the mask; γ = λ = 1 in every fifth case, an int64 mask in every second."""
    random, rows, length = lab.random, lab.random.randint(1, 4), lab.random.randint(2, 4 + number // 8)
    rewards, values = (torch.randn(rows, length, generator=lab.generator, dtype=dtype) for _ in range(2))
    mask = (torch.rand(rows, length, generator=lab.generator) < random.uniform(0.3, 1)).to(torch.int64)
    mask.view(-1)[:2] = 1  # verl refuses to whiten fewer than two valid tokens
    gamma, lam = (1.0, 1.0) if number % 5 == 0 else (random.uniform(0.7, 1), random.uniform(0.7, 1))
    mask = mask if number % 2 else mask.to(dtype)
    return {"rewards": rewards, "values": values, "mask": mask, "gamma": gamma, "lam": lam}


@lab.contract(3, 4, topic="mask")
@pytest.mark.parametrize(
    ("dtype", "tol", "whitened"), [("float64", 1e-12, 1e-7), ("float32", 1e-5, 1e-4)], ids=["float64", "float32"]
)
def test_masked(lab, dtype, tol, whitened):
    """On 200 random masks, γ and λ the advantages and returns are those of verl's compute_gae_advantage_return."""
    cases = [drawn(lab, number, getattr(torch, dtype)) for number in range(CASES)]
    # an int64 mask is counted in float32 by verl's masked_mean (count + 1e-8): whitened numbers keep seven digits
    (theirs,) = lab.upstream("mainline.upstream", name="masked", inputs=cases)
    (ours,) = lab.run("mainline.patch", name="masked", inputs=cases)
    for number, (case, got, want) in enumerate(zip(cases, ours, theirs, strict=True)):
        lab.agrees(got["ret"], want["ret"], case, tol, f"returns of case {number}")
        lab.agrees(got["adv"], want["adv"], case, whitened, f"whitened advantages of case {number}")
