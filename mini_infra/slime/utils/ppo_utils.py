"""Advantages for PPO on long responses: the step loop, and the chunked scan that replaces it.

Mirrors slime/utils/ppo_utils.py. GAE is a linear recurrence read from right to left,
A_t = delta_t + gamma * lambda * A_{t+1}. A loop pays one Python step a token; a scan pays a few matrix products.
Letters in shapes: B rows, T time steps, C the chunk, n = ceil(T / C) chunks.
"""

import torch
import torch.nn.functional as F


def get_advantages_and_returns_batch(
    response_lengths: list[int],
    values_list: list[torch.Tensor],
    rewards_list: list[torch.Tensor],
    gamma: float,
    lambd: float,
    chunked: bool = True,
) -> tuple[list[torch.Tensor], list[torch.Tensor]]:
    """GAE for responses of different lengths: pad to the longest, one call, cut each row to its length again.

    Row i of both lists has shape [response_lengths[i]], and so have the results. The padding is zeros on the right,
    so the token after a short row's last one is worth 0: each response counts as terminated.
    """
    values = torch.nn.utils.rnn.pad_sequence(values_list, batch_first=True)  # [B, T]
    rewards = torch.nn.utils.rnn.pad_sequence(rewards_list, batch_first=True).to(values.dtype)
    estimate = chunked_gae if chunked else vanilla_gae
    with torch.no_grad():
        advantages, returns = estimate(rewards, values, gamma, lambd)
    ends = list(enumerate(response_lengths))
    return [advantages[row, :end] for row, end in ends], [returns[row, :end] for row, end in ends]


def vanilla_gae(
    rewards: torch.Tensor, values: torch.Tensor, gamma: float, lambd: float
) -> tuple[torch.Tensor, torch.Tensor]:
    """GAE as it is defined, one time step after the other: the readable truth, and the slow side of every race.

    rewards, values: [B, T] -> advantages, returns: [B, T]. The token after the last one is worth 0.
    """
    next_advantage = next_value = torch.zeros_like(rewards[:, 0])
    backwards = []
    for t in reversed(range(rewards.shape[1])):
        delta = rewards[:, t] + gamma * next_value - values[:, t]
        next_advantage = delta + gamma * lambd * next_advantage
        next_value = values[:, t]
        backwards.append(next_advantage)
    advantages = torch.stack(backwards[::-1], dim=1)
    return advantages, advantages + values


def chunked_discounted_returns(rewards: torch.Tensor, discount: float, chunk_size: int = 128) -> torch.Tensor:
    """Discounted sums from the right, S_t = rewards_t + discount * S_{t+1}, without a step a token.

    rewards: [B, T], any T >= 0, not modified -> S: [B, T] in the dtype of rewards, without grad.
    fp16 and bf16 are computed in fp32 and rounded once. discount 0 gives rewards (0**0 is 1).
    chunk_size: any C >= 1; T need not be a multiple of it, and it never changes S beyond rounding.
    Work: at most about eight torch operations a chunk, none larger than 4 * max(B * (T + C), C * C) elements.
    Errors: AssertionError unless rewards has two axes; ValueError("chunk_size must be at least 1, got ...").
    """
    assert rewards.ndim == 2, f"rewards must be [B, T], got {tuple(rewards.shape)}"
    if chunk_size < 1:
        raise ValueError(f"chunk_size must be at least 1, got {chunk_size}")
    with torch.no_grad():
        exact = rewards.to(torch.promote_types(rewards.dtype, torch.float32))
        return _scan_from_the_right(exact, discount, chunk_size).to(rewards.dtype)


def _scan_from_the_right(x: torch.Tensor, w: float, chunk: int) -> torch.Tensor:
    """S_t = x_t + w * S_{t+1} over the last axis of x [B, T]: inside a chunk one product, between chunks itself."""
    rows, length = x.shape
    if length <= chunk:
        return x @ _powers_below_the_diagonal(w, length, x)
    # Zeros on the right are a future in which nothing is earned: they change no sum.
    chunks = F.pad(x, (0, -length % chunk)).view(rows, -1, chunk)  # [B, n, C]
    local = chunks @ _powers_below_the_diagonal(w, chunk, x)  # what each position sees of its own chunk
    # S at the first position of each chunk obeys the same recurrence, with one chunk as its step.
    # A chunk of one would leave as many heads as there were positions: pair them up instead.
    heads = _scan_from_the_right(local[:, :, 0], w**chunk, max(chunk, 2))  # [B, n]
    carry = F.pad(heads[:, 1:], (0, 1))  # what each chunk sees of its right neighbour
    to_the_next_chunk = w ** torch.arange(chunk, 0, -1, dtype=torch.float64, device=x.device)  # w^C ... w^1
    scanned = local + carry[:, :, None] * to_the_next_chunk.to(x.dtype)
    return scanned.view(rows, -1)[:, :length]


def _powers_below_the_diagonal(w: float, size: int, like: torch.Tensor) -> torch.Tensor:
    """L[k, t] = w^(k - t) for k >= t and 0 above, so that (x @ L)_t is the discounted sum over k >= t. [size, size]"""
    steps = torch.arange(size, device=like.device)
    powers = (w ** steps.to(torch.float64)).to(like.dtype)  # size powers, not size**2 of them
    return powers[(steps[:, None] - steps).clamp(min=0)].tril()


def chunked_gae(
    rewards: torch.Tensor,
    values: torch.Tensor,
    gamma: float,
    lambd: float,
    chunk_size: int = 128,
    bootstrap_values: torch.Tensor | None = None,
) -> tuple[torch.Tensor, torch.Tensor]:
    """Generalised advantage estimation as one chunked scan; no masks, no whitening.

    rewards, values: [B, T]; bootstrap_values: [B], the value of the state after the last step, V(s_T): 0 where the
    row terminated (None: every row did), the critic's value where it was only cut off.
    delta_t = rewards_t + gamma * values_{t+1} - values_t with values_T = bootstrap_values;
    advantages = the discounted sums of delta with discount gamma * lambd; returns = advantages + values.
    Results: [B, T] in the dtype of values (fp16 and bf16 are computed in fp32 and rounded once), without grad, even
    where values has one; the inputs are not modified and may be non-contiguous.
    Errors: AssertionError unless rewards has two axes and values its shape; ValueError for chunk_size < 1.
    """
    assert rewards.ndim == 2, f"rewards must be [B, T], got {tuple(rewards.shape)}"
    assert values.shape == rewards.shape, f"values {tuple(values.shape)}, rewards {tuple(rewards.shape)}"
    with torch.no_grad():
        dtype = torch.promote_types(torch.promote_types(rewards.dtype, values.dtype), torch.float32)
        value = values.to(dtype)
        after = value.new_zeros(len(value)) if bootstrap_values is None else bootstrap_values.to(dtype)
        next_value = torch.cat([value, after[:, None]], dim=1)[:, 1:]  # T = 0 works as well
        deltas = rewards.to(dtype) + gamma * next_value - value
        advantages = chunked_discounted_returns(deltas, gamma * lambd, chunk_size)
        return advantages.to(values.dtype), (advantages + value).to(values.dtype)
