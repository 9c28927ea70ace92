"""The scan and GAE without masks: values, borders of chunks, precision, cost, manners."""

import pytest
import torch

from grading import lab

CHUNKS = (1, 7, 64, 128)
LOW = (torch.bfloat16, torch.float16)


def double_sum(x, w):
    """S_t as the contract writes it: every pair k >= t, w^(k-t) x_k."""
    step = torch.arange(x.shape[1])
    powers, distance = w ** step.to(x.dtype), step[:, None] - step  # [n], [k, t]
    return x @ torch.where(distance >= 0, powers[distance.clamp(min=0)], 0.0)


def sums_from_the_right(x, w):
    """The recurrence in Python's own doubles, for rows too long for a matrix."""
    rows = []
    for row in x.double().tolist():
        ahead, out = 0.0, []
        for item in reversed(row):
            ahead = item + w * ahead
            out.append(ahead)
        rows.append(out[::-1])
    return torch.tensor(rows, dtype=torch.float64).reshape(x.shape)


def gae_by_steps(rewards, values, gamma, lam, after=None):
    """Advantages in fp64, one step after the other."""
    rewards, values = rewards.double(), values.double()
    after = torch.zeros(len(values)) if after is None else after
    ahead = torch.cat([values, after.double()[:, None]], dim=1)[:, 1:]
    return sums_from_the_right(rewards + gamma * ahead - values, gamma * lam)


def draw(lab, *shape, dtype=torch.float64):
    return torch.randn(shape, generator=lab.generator, dtype=torch.float64).to(dtype)


def check_one_ulp(lab, what, got, exact, dtype, advantages):
    """`got` is `exact` rounded once, but for what an fp32 sum of these advantages may err."""
    lab.check(got.dtype == dtype, f"{what} have the dtype of values", dtype, got.dtype)
    ulp = (2.0 ** (torch.frexp(exact).exponent - 1) * torch.finfo(dtype).eps).clamp(min=torch.finfo(dtype).tiny)
    worst = ((got.double() - exact).abs() / (ulp + 1e-5 * advantages.abs().max())).max().item()
    if not worst <= 1:
        lab.note(what)
    lab.check(worst <= 1, f"{what} in {dtype}", "within 1 ulp + 1e-5 max|A|", f"off by {worst:.3g} times that")


def check_sums(lab, lengths_of, discounts):
    """One world, many cases: every chunk size, every length of it, every discount."""
    cases = [
        {"x": draw(lab, lab.random.randint(1, 5), length), "w": w, "chunk_size": chunk}
        for chunk in CHUNKS
        for length in lengths_of(chunk)
        for w in discounts
    ]
    [out] = lab.run("scan", cases=cases)
    for case, got in zip(cases, out, strict=True):
        label = f"S at T={case['x'].shape[1]}, C={case['chunk_size']}, w={case['w']}"
        lab.close(got["S"], double_sum(case["x"], case["w"]), tol=1e-12, what=label)


@lab.contract(1, topic="scan")
def test_scan_whole_chunks(lab):
    """S_t is the discounted sum of everything from t on, when T is a multiple of the chunk (0 included)."""
    check_sums(lab, lambda chunk: (0, chunk, 2 * chunk, 5 * chunk), (0.3, 0.94))


@lab.contract(1, topic="scan")
def test_scan_ragged(lab):
    """S_t is the discounted sum of everything from t on, for any T: one less or more than a chunk, or shorter."""
    check_sums(lab, lambda chunk: (1, chunk - 1, chunk + 1, 3 * chunk + 7), (0.3, 0.94))


@lab.contract(1, topic="scan")
def test_scan_edge_discounts(lab):
    """Discount 0 gives the rewards themselves, discount 1 the sum of all that is left."""
    check_sums(lab, lambda chunk: (chunk, 3 * chunk + 7), (0.0, 1.0))


@lab.contract(2, topic="scan")
def test_chunk_invariance(lab):
    """The chunk size never changes a result beyond rounding."""
    rewards, values, after = draw(lab, 3, 257), draw(lab, 3, 257), draw(lab, 3)
    cases = [{"chunk_size": chunk} for chunk in (1, 16, 100, 257, 1000)]
    cases.append({})  # the default
    [out] = lab.run("gae", cases=cases, rewards=rewards, values=values, gamma=0.99, lam=0.95, bootstrap=after)
    for case, got in zip(cases[1:], out[1:], strict=True):
        lab.close(got["adv"], out[0]["adv"], tol=1e-12, what=f"advantages at {case or 'the default'} against C=1")


@lab.contract(2, topic="gae")
@pytest.mark.parametrize("at", ["any", "gamma=1", "lam=1"])
def test_gae_definition(lab, at):
    """Advantages are the discounted sums of the TD errors, with bootstrap_values as the value after the last step."""
    cases = [
        {
            "rewards": draw(lab, rows, length),
            "values": draw(lab, rows, length),
            "bootstrap": draw(lab, rows),
            "gamma": 1.0 if at == "gamma=1" else lab.random.uniform(0.5, 0.95),
            "lam": 1.0 if at == "lam=1" else lab.random.uniform(0.3, 0.9),
        }
        for rows, length in ((1, 1), (2, 5), (4, 128), (3, 130), (2, 300), (2, 0))
    ]
    [out] = lab.run("gae", cases=cases)
    for case, got in zip(cases, out, strict=True):
        want = gae_by_steps(case["rewards"], case["values"], case["gamma"], case["lam"], case["bootstrap"])
        lab.close(got["adv"], want, tol=1e-12, what=f"advantages at T={want.shape[1]}")


@lab.contract(2, topic="gae")
def test_returns(lab):
    """returns = advantages + values, at every position."""
    rewards, values = draw(lab, 3, 200), draw(lab, 3, 200)
    [got] = lab.run("gae", rewards=rewards, values=values, gamma=0.97, lam=0.6)
    want = gae_by_steps(rewards, values, 0.97, 0.6) + values
    lab.close(got["ret"], want, tol=1e-12, what="returns")


@lab.contract(2, 12, topic="scan")
@pytest.mark.parametrize("case", ["discounted", "undiscounted"])
def test_gae_long_rows(lab, case):
    """8,192 steps in fp32 stay within 5e-6 of the fp64 step loop, relative to the largest advantage."""
    gamma, lam = {"discounted": (0.99, 0.95), "undiscounted": (1.0, 1.0)}[case]
    rewards, values = (draw(lab, 2, 8192, dtype=torch.float32) for _ in range(2))
    [got] = lab.run("gae", rewards=rewards, values=values, gamma=gamma, lam=lam)
    want = gae_by_steps(rewards, values, gamma, lam)
    lab.close(got["adv"].double(), want, tol=5e-6, what=f"advantages of 8,192 steps, gamma {gamma}, lam {lam}")


@lab.contract(12, topic="scan")
def test_small_discount_long_rows(lab):
    """Powers of the discount that leave the number range (0.05^8192) cost no result: all sums stay finite and right."""
    x = draw(lab, 2, 8192)
    cases = [{"w": w} for w in (0.05, 0.5)]
    [out] = lab.run("scan", cases=cases, x=x)
    for case, got in zip(cases, out, strict=True):
        lab.close(got["S"], sums_from_the_right(x, case["w"]), tol=1e-12, what=f"S of 8,192 steps at w={case['w']}")


@lab.contract(5, topic="bootstrap")
def test_truncation(lab):
    """With gamma = lam = 1 and no rewards, A = V(s_T) - v_t in a truncated row, and -v_t in a terminated one."""
    values, after = draw(lab, 4, 150), draw(lab, 4)
    after[1] = 0.0
    [got] = lab.run("gae", rewards=torch.zeros_like(values), values=values, gamma=1.0, lam=1.0, bootstrap=after)
    lab.close(got["adv"], after[:, None] - values, tol=1e-12, what="advantages")


@lab.contract(2, topic="bootstrap")
def test_bootstrap_none_is_zero(lab):
    """No bootstrap_values means zeros."""
    rewards, values = draw(lab, 3, 70), draw(lab, 3, 70)
    [[none, zero]] = lab.run(
        "gae", cases=[{}, {"bootstrap": torch.zeros(3)}], rewards=rewards, values=values, gamma=0.9, lam=0.8
    )
    want = gae_by_steps(rewards, values, 0.9, 0.8)
    lab.close(none["adv"], want, tol=1e-12, what="advantages without bootstrap_values")
    lab.close(zero["adv"], want, tol=1e-12, what="advantages with zeros")


@lab.contract(2, topic="gae")
def test_batch_of_lists(lab):
    """get_advantages_and_returns_batch gives each response of its lists what it would get alone."""
    lengths = [5, 1, 200, 64]
    values, rewards = ([draw(lab, length) for length in lengths] for _ in range(2))
    [got] = lab.run("batch", lengths=lengths, values=values, rewards=rewards, gamma=0.95, lam=0.9, chunked=True)
    for row, length in enumerate(lengths):
        want = gae_by_steps(rewards[row][None], values[row][None], 0.95, 0.9)[0]
        lab.close(got["adv"][row], want, tol=1e-12, what=f"advantages of a response of {length} tokens")


@lab.contract(8, topic="numbers")
def test_low_precision(lab):
    """fp16 and bf16 are computed in fp32 and rounded once: each entry within one ulp of the fp64 result."""
    shapes = {"rewards": (2, 2048), "values": (2, 2048), "bootstrap": (2,)}
    cases = [{key: draw(lab, *shape, dtype=dtype) for key, shape in shapes.items()} for dtype in LOW]
    [out] = lab.run("gae", cases=cases, gamma=0.99, lam=0.95)
    for case, got in zip(cases, out, strict=True):
        exact = gae_by_steps(case["rewards"], case["values"], 0.99, 0.95, case["bootstrap"])
        check_one_ulp(lab, "advantages", got["adv"], exact, case["values"].dtype, exact)
        check_one_ulp(lab, "returns", got["ret"], exact + case["values"].double(), case["values"].dtype, exact)


@lab.contract(8, topic="numbers")
def test_dtype_of_values(lab):
    """Results have the dtype of values, whatever rewards have; the scan keeps the dtype of its input."""
    rewards, values = draw(lab, 2, 40), draw(lab, 2, 40)
    pairs = [(torch.float32, torch.bfloat16), (torch.bfloat16, torch.float32), (torch.float32, torch.float64)]
    cases = [{"rewards": rewards.to(r), "values": values.to(v)} for r, v in pairs]
    [out] = lab.run("gae", cases=cases, gamma=0.9, lam=0.8)
    for (r, v), got in zip(pairs, out, strict=True):
        got = (got["adv"].dtype, got["ret"].dtype)
        lab.check(got == (v, v), f"rewards {r}, values {v}: both results have the dtype of values", (v, v), got)
    [out] = lab.run("scan", cases=[{"x": rewards.to(dtype)} for dtype in LOW], w=0.9)
    lab.check([o["S"].dtype for o in out] == list(LOW), "the scan keeps its input's dtype")


@lab.contract(9, topic="edges")
def test_wrong_chunk(lab):
    """A chunk below 1 is a ValueError that names it, from the scan and from GAE."""
    x = draw(lab, 2, 10)
    cases = [{"chunk_size": 0}, {"chunk_size": -3}]
    [scans] = lab.run("scan", cases=cases, errors=True, x=x, w=0.9)
    [gaes] = lab.run("gae", cases=cases, errors=True, rewards=x, values=x, gamma=0.9, lam=0.9)
    for case, got in zip(cases * 2, scans + gaes, strict=True):
        want = f"chunk_size must be at least 1, got {case['chunk_size']}"
        right = isinstance(got, lab.Error) and got.type == "ValueError" and got.message == want
        lab.check(right, "the error", f"ValueError: {want}", got)


@lab.contract(9, topic="edges")
def test_wrong_shape(lab):
    """Rewards without exactly two axes, or values of another shape, are an AssertionError."""
    x = draw(lab, 2, 10)
    pairs = [(x[0], x[0]), (x[None], x[None]), (x, x[:, :9]), (x[:, :9], x), (x, x[:1]), (x, x[:, :1])]
    cases = [{"rewards": r, "values": v} for r, v in pairs]
    [out] = lab.run("gae", cases=cases, errors=True, gamma=0.9, lam=0.8)
    for (r, v), got in zip(pairs, out, strict=True):
        right = isinstance(got, lab.Error) and got.type == "AssertionError"
        lab.check(right, f"rewards {list(r.shape)}, values {list(v.shape)}", "AssertionError", got)
    rows = [x[0], x[None]]
    [out] = lab.run("scan", cases=[{"x": row} for row in rows], errors=True, w=0.9)
    for row, got in zip(rows, out, strict=True):
        right = isinstance(got, lab.Error) and got.type == "AssertionError"
        lab.check(right, f"the scan of rewards {list(row.shape)}", "AssertionError", got)


@lab.contract(10, topic="edges")
@pytest.mark.parametrize("of", ["scan", "gae"])
def test_manners(lab, of):
    """Results carry no gradient even if an input does; inputs are left alone and may be strided."""
    rewards, values, after = draw(lab, 2, 50), draw(lab, 2, 50), draw(lab, 2)
    if of == "scan":
        [got] = lab.run("manners_scan", x=rewards)
        lab.close(got["S"], double_sum(rewards, 0.9), tol=1e-12, what="S of a strided input")
    else:
        [got] = lab.run("manners_gae", rewards=rewards, values=values, bootstrap=after)
        want = gae_by_steps(rewards, values, 0.9, 0.8, after)
        lab.close(got["adv"], want, tol=1e-12, what="advantages of strided inputs")
    lab.check(not got["grad"], "no result requires grad", False, got["grad"])
    lab.check(got["clean"], "no input is modified")


def costs(lab, sizes):
    """Operations and the largest of them for calls of (length, chunk), whose values have to be right as well."""
    cases = [
        {"rewards": draw(lab, 2, length, dtype=torch.float32), "values": draw(lab, 2, length, dtype=torch.float32)}
        for length, _ in sizes
    ]
    [out] = lab.run("cost_gae", cases=[case | {"chunk": chunk} for case, (_, chunk) in zip(cases, sizes, strict=True)])
    for case, got in zip(cases, out, strict=True):
        want = gae_by_steps(case["rewards"], case["values"], 0.99, 0.95)
        lab.close(got["adv"].double(), want, tol=5e-6, what=f"advantages at T={want.shape[1]}")
    return out


@lab.contract(11, topic="cost")
def test_op_count(lab):
    """chunked_gae dispatches at most 80 + 8 ceil(T/C) torch operations: none a time step."""
    lengths = (1024, 8192)
    for length, got in zip(lengths, costs(lab, [(length, 128) for length in lengths]), strict=True):
        bar = 80 + 8 * length // 128
        lab.check(got["ops"] <= bar, f"torch operations at T={length}, C=128", f"at most {bar}", got["ops"])


@lab.contract(11, topic="cost")
def test_peak_numel(lab):
    """No intermediate of chunked_gae is larger than 4 max(B (T + C), C²) elements: never T x T."""
    chunks = (16, 128)
    for chunk, got in zip(chunks, costs(lab, [(2048, chunk) for chunk in chunks]), strict=True):
        largest, bar = got["max_numel"], 4 * max(2 * (2048 + chunk), chunk**2)
        lab.check(largest <= bar, f"elements of the largest result at T=2048, C={chunk}", f"at most {bar}", largest)


@lab.guard
@lab.contract(2, topic="gae")
def test_vanilla_is_kept(lab):
    """The step loop vanilla_gae, and the batch that runs on it, still compute GAE as it is defined."""
    rewards, values = draw(lab, 3, 30), draw(lab, 3, 30)
    [got] = lab.run("vanilla", rewards=rewards, values=values, gamma=0.9, lam=0.7)
    want = gae_by_steps(rewards, values, 0.9, 0.7)
    lab.close([got["adv"], got["ret"]], [want, want + values], tol=1e-12, what="vanilla_gae")
    [got] = lab.run(
        "batch", lengths=[30, 30, 30], values=list(values), rewards=list(rewards), gamma=0.9, lam=0.7, chunked=False
    )
    lab.close(torch.stack(got["ret"]), want + values, tol=1e-12, what="returns of the batch on the step loop")
