"""The cost of comparing two keys."""

import torch

from grading import lab

TOKENS, REPEATS, FEW, BAR = 8_000, 256, 32, 15


def digest(scalar: float, repeats: int = REPEATS) -> float:
    """Σ i · length_i of `probe_match_speed`: the keys part at positions in the second half."""
    half = TOKENS // 2
    positions = (half + int(scalar * i * 0.6180339887498949 % 1.0 * half) for i in range(1, repeats + 1))
    return float(sum(i * position for i, position in enumerate(positions, 1)))


@lab.contract(13, topic="match")
def test_match_speed(lab):
    """`match` of two keys of 8,000 tokens is at least 15 times as fast as a loop over the tokens."""
    tokens = torch.randint(0, 100_000, (TOKENS,), generator=lab.generator)
    few = {"repeats": FEW, "digest": lambda scalar: digest(scalar, FEW)}
    slow_s = lab.time("probe_match_speed", 4, on="reference", slow=True, tokens=tokens, rtol=0.0, **few) * REPEATS / FEW
    inputs = {"tokens": tokens, "repeats": REPEATS, "digest": digest, "rtol": 0.0}
    fast_s = lab.time("probe_match_speed", 20, enough_s=slow_s / BAR, **inputs)
    message = f"{REPEATS} comparisons took {fast_s * 1e3:.1f} ms, the loop over the tokens {slow_s * 1e3:.0f} ms"
    lab.check(slow_s >= BAR * fast_s, message, f"≥ {BAR}×", f"{slow_s / fast_s:.1f}×")
