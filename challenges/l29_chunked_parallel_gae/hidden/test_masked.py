"""GAE over the model's own tokens: the jump over masked positions, the bootstrap, whitening, precision, cost."""

import pytest
import torch

from grading import lab


def draw(lab, *shape, dtype=torch.float64):
    return torch.randn(shape, generator=lab.generator, dtype=torch.float64).to(dtype)


def holes(lab, place, rows=4, length=150):
    """A mask with holes of random width at `place`; "rows" mixes them, with one row that has no valid token."""
    mask = torch.ones(rows, length, dtype=torch.long)
    for row in mask:
        front, left, right, back = sorted(lab.random.sample(range(3, length - 3), 4))
        for where, hole in (("front", slice(front)), ("middle", slice(left, right)), ("end", slice(back, None))):
            if place in (where, "rows"):
                row[hole] = 0
    if place == "rows":
        mask[1] = 0
        mask[2] = (torch.rand(length, generator=lab.generator) < 0.5).long()
    return mask


def brute_force(rewards, values, mask, gamma, lam, after=None):
    """A of contract 3, a token at a time, in Python's own doubles."""
    after = [0.0] * len(values) if after is None else after.tolist()
    rows = []
    for r, v, m, value_ahead in zip(rewards.tolist(), values.tolist(), mask.tolist(), after, strict=True):
        ahead, out = 0.0, []
        for t in reversed(range(len(v))):
            if m[t]:
                ahead = r[t] + gamma * value_ahead - v[t] + gamma * lam * ahead
                value_ahead = v[t]
            out.append(ahead)
        rows.append(out[::-1])
    return torch.tensor(rows, dtype=torch.float64)


def whitened(advantages, mask):
    """The affine map that gives the valid entries mean 0 and unbiased variance 1, applied to all."""
    valid = advantages[mask.bool()]
    return (advantages - valid.mean()) / (valid.var(unbiased=True) + 1e-8).sqrt()


def batch(lab, place="rows"):
    """Random inputs of one call, with a bootstrap for every row."""
    mask = holes(lab, place)
    rewards, values, after = draw(lab, *mask.shape), draw(lab, *mask.shape), draw(lab, len(mask))
    gamma, lam = lab.random.uniform(0.6, 0.99), lab.random.uniform(0.5, 0.95)
    return {"rewards": rewards, "values": values, "mask": mask, "gamma": gamma, "lam": lam, "bootstrap": after}


def oracle(case):
    return brute_force(case["rewards"], case["values"], case["mask"], case["gamma"], case["lam"], case.get("bootstrap"))


def valid_part(lab, case, out):
    """What the trainer reads of both results: the entries at mask 1, as one list each."""
    for name, x in out.items():
        shape = getattr(x, "shape", type(x).__name__)
        lab.check(shape == case["mask"].shape, f"the shape of {name}", list(case["mask"].shape), shape)
    return {name: x[case["mask"].bool()] for name, x in out.items()}


@lab.contract(6, topic="mask")
def test_worked_figures(lab):
    """The worked figures of the contract come out."""
    rewards, values = (torch.tensor([row], dtype=torch.float64) for row in ([0.0, 0, 0, 1], [0.5, 9, 0.25, 0.75]))
    mask = torch.tensor([[1, 0, 1, 1]])
    [got] = lab.run("masked", rewards=rewards, values=values, mask=mask, gamma=0.9, lam=0.5)
    want = torch.tensor([[0.466875, 9.5375, 0.7875, 1.0]], dtype=torch.float64)
    lab.close(got["ret"], want, tol=1e-12, what="returns")


@lab.contract(3, topic="mask")
@pytest.mark.parametrize("place", ["none", "front", "middle", "end", "rows"])
def test_valid_tokens(lab, place):
    """At valid tokens the recurrence jumps over the holes, wherever they are, and ends in bootstrap_values."""
    cases = [batch(lab, place) for _ in range(3)]
    [out] = lab.run("masked", cases=cases)
    for case, got in zip(cases, out, strict=True):
        want = (oracle(case) + case["values"])[case["mask"].bool()]
        got = valid_part(lab, case, got)["ret"]
        lab.close(got, want, tol=1e-12, what=f"returns at valid tokens, holes: {place}")


@lab.contract(3, 4, topic="mask")
def test_masked_positions(lab):
    """A masked position has the advantage of the next valid token, 0 if there is none; returns are A + values there."""
    case = batch(lab)
    [got] = lab.run("masked", **case)
    lab.close(got["ret"], oracle(case) + case["values"], tol=1e-12, what="returns at every position")


@lab.contract(3, topic="mask")
def test_mask_equals_compact(lab):
    """A row with a tool's 500 tokens in the middle gets the advantages of the same row without them."""
    rewards, values, mask = draw(lab, 2, 60), draw(lab, 2, 60), torch.ones(2, 60, dtype=torch.long)
    tool = draw(lab, 2, 500), draw(lab, 2, 500), torch.zeros(2, 500, dtype=torch.long)
    short = {"rewards": rewards, "values": values, "mask": mask}
    long = {
        key: torch.cat([x[:, :25], gap, x[:, 25:]], dim=1) for (key, x), gap in zip(short.items(), tool, strict=True)
    }
    [out] = lab.run("masked", cases=[short, long], gamma=0.99, lam=0.95)
    want = (brute_force(rewards, values, mask, 0.99, 0.95) + values).flatten()
    lab.close(valid_part(lab, short, out[0])["ret"], want, tol=1e-12, what="returns without the tool")
    lab.close(valid_part(lab, long, out[1])["ret"], want, tol=1e-12, what="returns around 500 tool tokens")


@lab.contract(3, topic="mask")
def test_masked_rewards_are_dropped(lab):
    """Rewards and values at masked positions change nothing at valid ones: they are dropped, not moved."""
    case = batch(lab)
    noise = {
        key: case[key] + 100 * (1 - case["mask"]) * draw(lab, *case["mask"].shape) for key in ("rewards", "values")
    }
    [[clean, noisy]] = lab.run("masked", cases=[case, case | noise])
    clean, noisy = valid_part(lab, case, clean), valid_part(lab, case, noisy)
    want = (oracle(case) + case["values"])[case["mask"].bool()]
    lab.close(clean["ret"], want, tol=1e-12, what="returns at valid tokens")
    lab.close(noisy, clean, tol=1e-12, what="results at valid tokens, with noise elsewhere")


@lab.contract(7, topic="numbers")
def test_garbage_at_masked_positions(lab):
    """NaN and inf at masked positions of rewards and values reach no valid one."""
    case = batch(lab)
    garbage = (float("nan"), float("inf"), -float("inf"))
    dirty = [
        case | {key: case[key].masked_fill(case["mask"] == 0, fill) for key in ("rewards", "values")}
        for fill in garbage
    ]
    [out] = lab.run("masked", cases=dirty)
    want = valid_part(lab, case, {"adv": whitened(oracle(case), case["mask"]), "ret": oracle(case) + case["values"]})
    for fill, got in zip(garbage, out, strict=True):
        lab.close(valid_part(lab, case, got), want, tol=1e-7, what=f"results at valid tokens, {fill} elsewhere")


@lab.contract(4, topic="whiten")
def test_whitened_mean(lab):
    """The valid advantages have mean 0: padding has no say in it."""
    case = batch(lab)
    [got] = lab.run("masked", **case)
    mean = valid_part(lab, case, got)["adv"].mean().item()
    lab.check(abs(mean) <= 1e-6, "mean of the valid advantages", 0, mean)


@lab.contract(4, topic="whiten")
def test_whitened_variance(lab):
    """The valid advantages have an unbiased variance (over n - 1) of 1, few tokens or many."""
    few = {
        "rewards": draw(lab, 2, 12),
        "values": draw(lab, 2, 12),
        "mask": torch.zeros(2, 12),
        "gamma": 0.9,
        "lam": 0.9,
    }
    few["mask"][0, 1:6:2] = 1
    cases = [batch(lab), few]
    [out] = lab.run("masked", cases=cases)
    for case, got in zip(cases, out, strict=True):
        count, exact = int(case["mask"].sum()), whitened(oracle(case), case["mask"])
        want = exact[case["mask"].bool()].var().item()  # 1, but for the 1e-8
        variance = valid_part(lab, case, got)["adv"].var().item()
        if abs(variance * (count - 1) / count - want) <= 1e-5:
            lab.note("over n")
        lab.check(abs(variance - want) <= 1e-5, f"unbiased variance of {count} valid advantages", want, variance)


@lab.contract(4, topic="whiten")
def test_whitened_everywhere(lab):
    """Masked positions pass through the same shift and scale as valid ones."""
    case = batch(lab)
    [got] = lab.run("masked", **case)
    raw, want = oracle(case), whitened(oracle(case), case["mask"])
    if torch.is_tensor(got["adv"]) and got["adv"].shape == raw.shape and (got["adv"] - raw).abs().max() <= 1e-9:
        lab.note("not whitened")
    lab.close(got["adv"], want, tol=1e-7, what="advantages at every position")


@lab.contract(5, topic="bootstrap")
def test_truncation(lab):
    """With gamma = lam = 1 and no rewards, A = V(s_T) - v_t at each valid token: rows end where their tokens do."""
    mask = holes(lab, "end")
    values, after = draw(lab, *mask.shape), draw(lab, len(mask))
    after[1] = 0.0  # this row terminated
    [got] = lab.run(
        "masked", rewards=torch.zeros_like(values), values=values, mask=mask, gamma=1.0, lam=1.0, bootstrap=after
    )
    want = after[:, None].expand_as(values)[mask.bool()]
    lab.close(valid_part(lab, {"mask": mask}, got)["ret"], want, tol=1e-12, what="returns at valid tokens")


@lab.contract(5, topic="bootstrap")
def test_bootstrap_none_is_zero(lab):
    """No bootstrap_values means that every row terminated."""
    case = batch(lab) | {"bootstrap": None}
    [got] = lab.run("masked", **case)
    lab.close(got["ret"], oracle(case) + case["values"], tol=1e-12, what="returns without bootstrap_values")


@lab.contract(8, topic="numbers")
def test_mask_dtype(lab):
    """The mask may be float, int or bool."""
    case = batch(lab)
    masks = [case["mask"].to(dtype) for dtype in (torch.float32, torch.int32, torch.bool)]
    [out] = lab.run("masked", cases=[case | {"mask": mask} for mask in masks])
    want = {"adv": whitened(oracle(case), case["mask"]), "ret": oracle(case) + case["values"]}
    for mask, got in zip(masks, out, strict=True):
        lab.close(got, want, tol=1e-7, what=f"results with a mask of {mask.dtype}")


@lab.contract(8, topic="numbers")
def test_low_precision(lab):
    """fp16 and bf16 are computed in fp32 and rounded once, whitening included."""
    mask = holes(lab, "rows", length=1024)
    shapes = {"rewards": mask.shape, "values": mask.shape, "bootstrap": (4,)}
    cases = [
        {key: draw(lab, *shape, dtype=dtype) for key, shape in shapes.items()}
        for dtype in (torch.bfloat16, torch.float16)
    ]
    [out] = lab.run("masked", cases=cases, mask=mask, gamma=0.99, lam=0.95)
    for case, got in zip(cases, out, strict=True):
        exact = oracle(case | {"mask": mask, "gamma": 0.99, "lam": 0.95})
        check_one_ulp(lab, "returns", got["ret"], exact + case["values"].double(), case["values"].dtype, exact)
        check_one_ulp(lab, "advantages", got["adv"], whitened(exact, mask), case["values"].dtype, exact)


def check_one_ulp(lab, what, got, exact, dtype, advantages):
    """`got` is `exact` rounded once, but for what an fp32 sum of these advantages may err."""
    lab.check(got.dtype == dtype, f"{what} have the dtype of values", dtype, got.dtype)
    ulp = (2.0 ** (torch.frexp(exact).exponent - 1) * torch.finfo(dtype).eps).clamp(min=torch.finfo(dtype).tiny)
    worst = ((got.double() - exact).abs() / (ulp + 1e-5 * advantages.abs().max())).max().item()
    lab.check(worst <= 1, f"{what} in {dtype}", "within 1 ulp + 1e-5 max|A|", f"off by {worst:.3g} times that")


@lab.contract(9, topic="edges")
def test_too_few_tokens(lab):
    """A batch with no valid token, or a single one, is a ValueError that says why."""
    none, one = torch.zeros(2, 2, 9)
    one[1, 4] = 1
    given = {"rewards": draw(lab, 2, 9), "values": draw(lab, 2, 9), "gamma": 0.9, "lam": 0.9}
    [out] = lab.run("masked", errors=True, cases=[{"mask": none}, {"mask": one}], **given)
    for got, says in zip(out, ("At least one element in the mask has to be 1.", "division by zero"), strict=True):
        right = isinstance(got, lab.Error) and got.type == "ValueError" and says in got.message
        lab.check(right, "the error of a mask with too few ones", f"ValueError: … {says}", got)


@lab.contract(9, topic="edges")
def test_wrong_shape(lab):
    """Rewards without exactly two axes, or values or a mask of another shape, are an AssertionError."""
    x, mask = draw(lab, 2, 10), torch.ones(2, 10)
    few, few_mask = x[:, :9], mask[:, :9]
    given = [(x[0], x[0], mask[0]), (x[None], x[None], mask[None]), (x, x[:, :1], mask)]
    given += [(x, few, mask), (few, x, few_mask), (x, few, few_mask), (few, x, mask)]
    cases = [{"rewards": r, "values": v, "mask": m} for r, v, m in given]
    [out] = lab.run("masked", cases=cases, errors=True, gamma=0.9, lam=0.9)
    for (r, v, m), got in zip(given, out, strict=True):
        right = isinstance(got, lab.Error) and got.type == "AssertionError"
        shapes = f"rewards {list(r.shape)}, values {list(v.shape)}, mask {list(m.shape)}"
        lab.check(right, shapes, "AssertionError", got)


@lab.contract(10, topic="edges")
def test_manners(lab):
    """Results carry no gradient even if values does; inputs are left alone and may be strided."""
    case = batch(lab) | {"gamma": 0.9, "lam": 0.8}
    given = {key: case[key] for key in ("rewards", "values", "mask", "bootstrap")}
    [got] = lab.run("manners_masked", **given)
    lab.close(got["ret"], oracle(case) + case["values"], tol=1e-12, what="returns of strided inputs")
    lab.check(not got["grad"], "no result requires grad", False, got["grad"])
    lab.check(got["clean"], "no input is modified")


def costs(lab, lengths):
    """Operations and the largest of them, one call a length, whose values have to be right as well."""
    masks = [holes(lab, "rows", length=length) for length in lengths]
    drawn = [draw(lab, 2, *mask.shape, dtype=torch.float32) for mask in masks]
    cases = [{"rewards": x[0], "values": x[1], "mask": mask} for x, mask in zip(drawn, masks, strict=True)]
    [out] = lab.run("cost_masked", cases=cases)
    for case, got in zip(cases, out, strict=True):
        want = oracle(case | {"gamma": 0.99, "lam": 0.95}) + case["values"].double()
        lab.close(got["ret"].double(), want, tol=5e-6, what=f"returns at T={want.shape[1]}")
    return out


@lab.contract(11, topic="cost")
def test_op_count(lab):
    """The whole masked call dispatches at most 80 + 8 ceil(T/128) torch operations: none a time step."""
    for length, got in zip((1024, 8192), costs(lab, (1024, 8192)), strict=True):
        bar = 80 + 8 * length // 128
        lab.check(got["ops"] <= bar, f"torch operations at T={length}", f"at most {bar}", got["ops"])


@lab.contract(11, topic="cost")
def test_peak_numel(lab):
    """No intermediate of the masked call is larger than 4 max(bs (T + 128), 128²) elements: never T x T."""
    [got] = costs(lab, (2048,))
    largest, bar = got["max_numel"], 4 * max(4 * (2048 + 128), 128**2)
    lab.check(largest <= bar, "elements of the largest result at T=2048", f"at most {bar}", largest)
