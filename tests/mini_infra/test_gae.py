"""The references of l29 as ordinary code: the scan, masks, whitening."""

import pytest
import torch

from mini_infra.slime.utils import ppo_utils
from mini_infra.verl.trainer.ppo.core_algos import compute_gae_advantage_return
from mini_infra.verl.utils import torch_functional as verl_F


def draw(*shape):
    return torch.randn(shape, generator=torch.Generator().manual_seed(29), dtype=torch.float64)


@pytest.mark.parametrize("chunk_size", [1, 2, 7, 50, 200])
def test_chunked_gae_equals_the_step_loop(chunk_size):
    rewards, values = draw(2, 3, 50)
    want = ppo_utils.vanilla_gae(rewards, values, 0.9, 0.8)
    got = ppo_utils.chunked_gae(rewards, values, 0.9, 0.8, chunk_size)
    torch.testing.assert_close(got, want, rtol=0, atol=1e-13)


def test_a_full_mask_is_plain_gae():
    rewards, values, bootstrap = draw(3, 40), draw(3, 40) + 1, draw(3)
    _, want = ppo_utils.chunked_gae(rewards, values, 0.9, 0.8, bootstrap_values=bootstrap)
    mask = torch.ones(3, 40)
    advantages, returns = compute_gae_advantage_return(rewards, values, mask, 0.9, 0.8, bootstrap)
    torch.testing.assert_close(returns, want, rtol=0, atol=1e-13)
    torch.testing.assert_close(advantages, verl_F.masked_whiten(want - values, mask))


def test_batch_pads_and_cuts():
    values, rewards = ([draw(length) for length in (5, 1, 9)] for _ in range(2))
    advantages, returns = ppo_utils.get_advantages_and_returns_batch([5, 1, 9], values, rewards, 0.9, 0.8)
    assert [len(row) for row in advantages] == [len(row) for row in returns] == [5, 1, 9]
    alone = ppo_utils.vanilla_gae(rewards[0][None], values[0][None], 0.9, 0.8)[0][0]
    torch.testing.assert_close(advantages[0], alone, rtol=0, atol=1e-13)


def test_masked_statistics_never_see_the_rest():
    values = torch.tensor([[1.0, float("nan"), 3.0], [5.0, 7.0, float("inf")]])
    mask = torch.tensor([[1, 0, 1], [1, 1, 0]])
    assert verl_F.masked_sum(values, mask) == 16
    assert verl_F.masked_sum(values, mask, axis=1).tolist() == [4, 12]
    assert verl_F.masked_mean(values, mask, axis=1).tolist() == [2, 6]
    assert verl_F.masked_var(values, mask).item() == pytest.approx(20 / 3)
    assert verl_F.masked_var(values, mask, unbiased=False).item() == pytest.approx(5)


def test_whitening_may_keep_the_mean():
    values, mask = draw(4, 20) + 3, torch.ones(4, 20)
    assert verl_F.masked_whiten(values, mask, shift_mean=False).mean().item() == pytest.approx(values.mean().item())
    assert verl_F.masked_whiten(values, mask).var().item() == pytest.approx(1)


@pytest.mark.parametrize(("ones", "says"), [(0, "At least one element"), (1, "division by zero")])
def test_too_few_valid_tokens(ones, says):
    mask = torch.zeros(2, 5)
    mask.view(-1)[:ones] = 1
    with pytest.raises(ValueError, match=says):
        verl_F.masked_whiten(draw(2, 5), mask)
