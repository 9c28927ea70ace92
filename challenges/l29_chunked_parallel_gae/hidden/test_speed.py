"""Time against the step loop, each side at one thread; the step loop runs where the learner's patch is not."""

import torch

from grading import lab

ROWS, LENGTH, LOOP_LENGTH = 8, 16384, 256
W = 0.99 * 0.95


def inputs(lab, length, **more):
    """Rewards around 1 and positive weights: the digest is a sum without cancellation."""
    rewards, values = (torch.randn(ROWS, length, generator=lab.generator) for _ in range(2))
    weights = torch.rand(ROWS, length, generator=lab.generator) + 0.5
    phases = 50 * torch.randn(ROWS, length, generator=lab.generator)
    return {"rewards": rewards + 1, "values": values, "weights": weights, "phases": phases, **more}


def digest(given):
    """The weighted sum of the returns, as a function of the scalar x that adds sin(x · phase) to each reward."""
    mask = given.get("mask", torch.ones_like(given["values"]))
    rows = [given[key].double().tolist() for key in ("rewards", "values", "weights")] + [mask.tolist()]
    fixed, slopes = 0.0, []
    for r, v, weight, m in zip(*rows, strict=True):
        ahead = value_ahead = slope = 0.0
        for t in reversed(range(len(v))):
            if m[t]:
                ahead, value_ahead = r[t] + 0.99 * value_ahead - v[t] + W * ahead, v[t]
            fixed += weight[t] * (ahead + v[t])
        slopes.append([])  # of the sum in each reward: all weights to the left see it, faded by the steps between
        for t in range(len(v)):
            slope += weight[t]
            slopes[-1].append(slope * m[t])
            slope *= W if m[t] else 1
    slopes, phases = torch.tensor(slopes, dtype=torch.float64), given["phases"].double()
    return lambda x: fixed + float((slopes * torch.sin(x * phases)).sum())


def race(lab, probe, given, bar):
    """The probe against the step loop. Its cost is linear in T: short calls give a steady best."""
    loop = inputs(lab, LOOP_LENGTH)
    expected, expected_loop = digest(given), digest(loop)
    slow = lab.time("time_loop", 30, on="reference", digest=expected_loop, rtol=1e-5, **loop) * LENGTH / LOOP_LENGTH
    fast = lab.time(probe, 30, digest=expected, rtol=1e-5, enough_s=slow / (1.5 * bar), **given)
    lab.check(slow >= bar * fast, f"speed at [{ROWS}, {LENGTH}]", f"{bar} x the step loop", f"{slow / fast:.1f} x")


@lab.contract(11, topic="cost")
def test_speed(lab):
    """At B=8, T=16384, C=128 chunked_gae takes at most a fortieth of the step loop's time, one thread each."""
    race(lab, "time_gae", inputs(lab, LENGTH), bar=40)


@lab.contract(11, topic="cost")
def test_speed_masked(lab):
    """At bs=8, T=16384 the masked form takes at most a twentieth of the unmasked step loop's time."""
    mask = (torch.rand(ROWS, LENGTH, generator=lab.generator) < 0.7).long()
    race(lab, "time_masked", inputs(lab, LENGTH, mask=mask), bar=20)
