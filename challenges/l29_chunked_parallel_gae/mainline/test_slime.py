"""The patch and slime's own functions on the same inputs, small ones first."""

import torch

from grading import lab

CASES = 200


def drawn(lab, number, *names):
    """Rows of random numbers, and a chunk that may be longer than they are."""
    rows, length = lab.random.randint(1, 4), lab.random.randint(1, 3 + number // 3)
    shapes = dict.fromkeys(names, (rows, length))
    return {name: torch.randn(*shape, generator=lab.generator, dtype=torch.float64) for name, shape in shapes.items()}


def discounts(lab, number):
    names = ("gamma", "lam")
    return dict.fromkeys(names, 1.0) if number % 5 == 0 else {name: lab.random.uniform(0.7, 1) for name in names}


@lab.contract(1, topic="scan")
def test_scan(lab):
    """On 200 random inputs the discounted sums are those of slime's chunked_discounted_returns."""
    cases = []
    for number in range(CASES):
        w = lab.random.choice([0.3, 0.94, 1.0])
        cases.append({**drawn(lab, number, "x"), "w": w, "chunk_size": lab.random.randint(1, 64)})
    (theirs,) = lab.upstream("mainline.upstream", name="scan", inputs=cases)
    (ours,) = lab.run("mainline.patch", name="scan", inputs=cases)
    for number, (case, got, want) in enumerate(zip(cases, ours, theirs, strict=True)):
        lab.agrees(got["S"], want["S"], case, 1e-12, f"sums of case {number}")


@lab.contract(2, topic="scan")
def test_gae(lab):
    """On 200 random inputs advantages and returns are those of slime's chunked_gae and of its step loop."""
    cases = [drawn(lab, number, "rewards", "values") | discounts(lab, number) for number in range(CASES)]
    chunked = [case | {"chunk_size": lab.random.randint(1, 64)} for case in cases]
    (theirs,) = lab.upstream("mainline.upstream", name="gae", inputs=chunked)
    (loop,) = lab.upstream("mainline.upstream", name="vanilla", inputs=cases)
    (ours,) = lab.run("mainline.patch", name="gae", inputs=chunked)
    for number, (case, got, chunks, steps) in enumerate(zip(chunked, ours, theirs, loop, strict=True)):
        for name, want in (("chunked_gae", chunks), ("vanilla_gae", steps)):
            for key, word in (("adv", "advantages"), ("ret", "returns")):
                lab.agrees(got[key], want[key], case, 1e-12, f"{word} of case {number} ({name})")
