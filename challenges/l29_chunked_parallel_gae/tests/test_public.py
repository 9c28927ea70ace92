"""A first check of your patch: `labs test`, or `pytest` in this folder. The hidden tests ask for more."""

import torch

from grading import lab


def draw(lab, *shape):
    return torch.randn(shape, generator=lab.generator, dtype=torch.float64)


@lab.contract(6, topic="mask")
def test_worked_figures(lab):
    """The worked figures of contract 6 come out."""
    rewards, values = (torch.tensor([row], dtype=torch.float64) for row in ([0.0, 0, 0, 1], [0.5, 9, 0.25, 0.75]))
    mask = torch.tensor([[1, 0, 1, 1]])
    [got] = lab.run("masked", rewards=rewards, values=values, mask=mask, gamma=0.9, lam=0.5)
    want = torch.tensor([[0.466875, 9.5375, 0.7875, 1.0]], dtype=torch.float64)
    lab.close(got["ret"], want, tol=1e-12, what="returns")


@lab.contract(2, topic="gae")
def test_chunked_equals_vanilla(lab):
    """chunked_gae at T=130, C=32 equals the step loop."""
    given = {"rewards": draw(lab, 3, 130), "values": draw(lab, 3, 130), "gamma": 0.99, "lam": 0.95}
    [want] = lab.run("vanilla", **given)
    [got] = lab.run("gae", chunk_size=32, **given)
    lab.close(got, want, tol=1e-12, what="advantages and returns")


@lab.contract(1, topic="scan")
def test_chunk_longer_than_row(lab):
    """A row shorter than the chunk is summed as well: [1, 2, 3] at discount 0.5 gives [2.75, 3.5, 3]."""
    [got] = lab.run("scan", x=torch.tensor([[1.0, 2.0, 3.0]]), w=0.5, chunk_size=64)
    lab.close(got["S"], torch.tensor([[2.75, 3.5, 3.0]]), tol=1e-6, what="S")


@lab.contract(2, topic="gae")
def test_returns(lab):
    """returns = advantages + values."""
    values = draw(lab, 2, 50)
    [got] = lab.run("gae", rewards=draw(lab, 2, 50), values=values, gamma=0.9, lam=0.8)
    lab.close(got["ret"], got["adv"] + values, tol=1e-12, what="returns")


@lab.contract(5, topic="bootstrap")
def test_bootstrap_row(lab):
    """A truncated row with gamma = lam = 1 and no rewards has advantages V(s_T) - v_t."""
    values, after = draw(lab, 2, 40), draw(lab, 2)
    [got] = lab.run("gae", rewards=torch.zeros(2, 40).double(), values=values, gamma=1.0, lam=1.0, bootstrap=after)
    lab.close(got["adv"], after[:, None] - values, tol=1e-12, what="advantages")
