"""Public tests of l05."""

import torch

from grading import lab


@lab.contract(3, topic="adjoint")
def test_copy_adds_gradients(lab):
    """The gradient of a tensor that every rank uses is the sum of what the ranks send back."""
    x = torch.randn(4, 2, 8, generator=lab.generator, dtype=torch.float64)
    ys = [torch.randn(4, 2, 8, generator=lab.generator, dtype=torch.float64) for _ in range(2)]
    out = lab.run("region", ranks=2, name="copy", groups=[[0, 1]], x=x, by_rank=[{"y": y} for y in ys])
    for rank, got in enumerate(out):
        lab.close(got["Fty"], ys[0] + ys[1], tol=1e-12, what=f"gradient of the copied tensor on rank {rank}")
