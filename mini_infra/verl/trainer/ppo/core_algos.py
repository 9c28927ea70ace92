"""Algorithms of the PPO trainer. Mirrors verl/trainer/ppo/core_algos.py.

A response may hold tokens that the model did not write: the output of a tool, padding. response_mask is 1 at the
model's own tokens. Letters in shapes: bs rows, T response positions, C the chunk.
"""

import torch
import torch.nn.functional as F

import mini_infra.verl.utils.torch_functional as verl_F


def compute_gae_advantage_return(
    token_level_rewards: torch.Tensor,
    values: torch.Tensor,
    response_mask: torch.Tensor,
    gamma: float,
    lam: float,
    bootstrap_values: torch.Tensor | None = None,
) -> tuple[torch.Tensor, torch.Tensor]:
    """GAE over the model's own tokens only: the recurrence jumps over masked positions.

    token_level_rewards, values: [bs, T]; response_mask: [bs, T] of 0 and 1, float, int or bool;
    bootstrap_values: [bs], the value of the state after each row's last valid token (None: zeros, all terminated).
    With next(t) the first index after t whose mask is 1:
      mask 1: A_t = r_t + gamma * v_next - v_t + gamma * lam * A_next(t), where v_next is values[next(t)], or
              bootstrap_values (and A_next = 0) after the row's last valid token;
      mask 0: A_t = A_next(t), or 0 if there is none. Rewards and values there are ignored: they may be NaN or inf.
    Results: (advantages, returns), both [bs, T] in the dtype of values (fp16 and bf16 computed in fp32, rounded once),
    without grad; the inputs are not modified. returns = A + values at every position;
    advantages = masked_whiten(A, response_mask).
    Work: at most 80 + 8 * ceil(T / 128) torch operations for the whole call, none of them larger than
    4 * max(bs * (T + 128), 128 * 128) elements.
    Errors: AssertionError unless rewards has two axes and values and mask its shape; ValueError where the mask selects
    fewer than two positions of the batch.
    """
    assert token_level_rewards.ndim == 2, f"rewards must be [bs, T], got {tuple(token_level_rewards.shape)}"
    assert values.shape == response_mask.shape == token_level_rewards.shape, "rewards, values and mask differ in shape"
    with torch.no_grad():
        dtype = torch.promote_types(torch.promote_types(token_level_rewards.dtype, values.dtype), torch.float32)
        reward, value, valid = token_level_rewards.to(dtype), values.to(dtype), response_mask.bool()
        after = value.new_zeros(len(value)) if bootstrap_values is None else bootstrap_values.to(dtype)
        rank = valid.cumsum(dim=1) - valid.long()  # how many valid tokens precede t: the place of t, or of next(t)
        deltas = _packed_deltas(reward, value, valid, rank, gamma, after)
        # At mask 0 the same index reads A of next(t), or the first column behind the last token, which is 0.
        advantages = _discounted_sums(deltas, gamma * lam).gather(1, rank)
        returns = (advantages + value).to(values.dtype)
        return verl_F.masked_whiten(advantages, valid).to(values.dtype), returns


def _packed_deltas(
    reward: torch.Tensor,
    value: torch.Tensor,
    valid: torch.Tensor,
    rank: torch.Tensor,
    gamma: float,
    after: torch.Tensor,
) -> torch.Tensor:
    """TD errors of the valid tokens, moved together to the left of each row [bs, T]; zeros behind them.

    rank [bs, T]: the column of each valid token; after [bs]: the value behind the last one.
    """
    width = value.shape[1]
    slot = torch.where(valid, rank, width)  # masked tokens share a spare column on the right
    reward, value = (x.new_zeros(len(x), width + 1).scatter(1, slot, x) for x in (reward, value))
    length = valid.sum(dim=1, keepdim=True)  # [bs, 1]
    value.scatter_(1, length, after[:, None])
    deltas = reward[:, :-1] + gamma * value[:, 1:] - value[:, :-1]
    # Selected, not multiplied: the spare column may hold NaN.
    return torch.where(torch.arange(width, device=value.device) < length, deltas, 0.0)


def _discounted_sums(x: torch.Tensor, discount: float, chunk: int = 128) -> torch.Tensor:
    """S_t = x_t + discount * S_{t+1} over the rows of x [bs, T], in chunks; the chunks' heads by the same function."""
    rows, length = x.shape
    size = min(chunk, length)
    steps = torch.arange(size, device=x.device)
    powers = (discount ** torch.arange(size + 1, dtype=torch.float64, device=x.device)).to(x.dtype)
    weights = powers[(steps[:, None] - steps).clamp(min=0)].tril()  # [k, t] = discount^(k - t) for k >= t
    if length <= chunk:
        return x @ weights
    local = F.pad(x, (0, -length % chunk)).view(rows, -1, chunk) @ weights  # [bs, n, C]
    heads = _discounted_sums(local[:, :, 0], discount**chunk, chunk)  # [bs, n]: S where each chunk begins
    carry = F.pad(heads[:, 1:], (0, 1))[:, :, None] * powers[1:].flip(0)  # C steps from a chunk's first position
    return (local + carry).view(rows, -1)[:, :length]
