"""The gate with a judge that runs the tiny course's three tests in this process."""

import pytest
import torch

from grading.authoring import gate
from grading.course.catalog import Course
from grading.course.submission import Refused, from_tree
from grading.course.trees import starter_tree
from grading.judge.report import Report, TestResult

FACTORS = {"l01": ("double", 2), "l02": ("quadruple", 4)}


def fake_jobs(course, lab, jobs, judges, say):
    return [fake_grade(course, lab, job) for job in jobs]


def fake_grade(course, lab, job):
    seed, tests = job.seed, job.tests
    try:
        submission = from_tree(lab, job.tree, starter_tree(course, lab))
    except Refused as refused:
        submission = refused
    base = {"lab": lab.id, "title": lab.title, "commit": None, "base": "x", "seed": seed, "jail": "none", "seconds": 0}
    if isinstance(submission, Refused):
        return Report(**base, counts=True, verdict="REFUSED")
    space: dict = {}
    exec(submission.blobs["mini_infra/tiny/ops.py"], space)
    name, factor = FACTORS[lab.id]
    torch.manual_seed(seed)
    x = torch.randn(5)
    cases = [(f"test_{name}", space[name], x, factor * x, [1], False)]
    if tests == "hidden":
        cases.append(("test_zero", space[name], torch.zeros(3), torch.zeros(3), [2], False))
        cases.append(("test_negated", space["negated"], x, -x, [], True))
    results = [_result(*case) for case in cases]
    verdict = "PASS" if all(result.outcome == "passed" for result in results) else "FAIL"
    return Report(**base, counts=True, verdict=verdict, tests=results)


def _result(name, function, x, want, contract, guard) -> TestResult:
    try:
        kind = "ok" if torch.equal(function(x), want) else "value"
    except Exception as error:
        kind = f"error:{type(error).__name__}"
    outcome = "passed" if kind == "ok" else "failed"
    return TestResult(
        id=f"t.py::{name}", contract=contract, guard=guard, outcome=outcome, kind=kind, sentence=name, topic="sum"
    )


@pytest.fixture
def check(tiny, monkeypatch):
    monkeypatch.setattr(gate, "grade_jobs", fake_jobs)

    def run(write: bool = True, lab: str = "l01") -> gate.Checked:
        course = Course.load(tiny.root)
        return gate.check(course, course.lab(lab), None, write=write, mutants=0, say=lambda *told: None)

    run.folder = tiny.lab("l01").folder
    run.ops = tiny.root / "mini_infra/tiny/ops.py"
    return run


def edit(path, old: str, new: str) -> None:
    text = path.read_text()
    assert old in text
    path.write_text(text.replace(old, new))


def test_a_good_lab_has_no_misses(check):
    assert check(write=False).misses == ["fingerprints.json is not of these mistakes: labs check l01 --write"]
    checked = check()
    assert (checked.misses, checked.tests, checked.mistakes) == ([], 3, 2)
    assert check(write=False).good
    assert check(lab="l02").good


def test_a_wrong_reference_is_a_miss_for_each_seed(check):
    edit(check.ops, "    total += x\n", "    total += 2 * x\n")
    found = check().misses
    assert [miss for miss in found if miss.startswith("the reference")] == [
        f"the reference is FAIL (t.py::test_double value) ({which} tests, seed {seed})"
        for which, seed in [("hidden", 1), ("hidden", 2), ("hidden", 3), ("public", 1)]
    ]


def test_the_contract_and_the_tests_name_the_same_numbers(check):
    edit(check.folder / "task.md", "2. Zero stays zero.\n", "3. Something else.\n")
    assert check().misses == [
        "no hidden test for contract 3",
        "a hidden test names contract 2, which task.md does not have",
    ]
    (check.folder / "task.md").write_text("# No contract\n")
    assert check().misses == ["task.md has no section 'Contract' with lines '1. …'"]


def test_a_mistake_that_passes_and_one_that_looks_like_another_are_misses(check):
    (check.folder / "mistakes/none.py").write_text('"""Right."""\n\n\ndef double(x):\n    return 2 * x\n')
    (check.folder / "mistakes/nine.py").write_text('"""Nine."""\n\n\ndef double(x):\n    return 9 * x\n')
    found = check().misses
    assert "the mistake none is PASS (seed 1)" in found
    assert "the mistakes nine and seven look alike: add a parameter or a note that tells them apart" in found


def test_a_starter_that_passes_a_test_is_a_miss(check):
    edit(check.folder / "lab.yaml", "::double", "::negated")
    for path in (check.folder / "mistakes").glob("*.py"):
        path.unlink()
    found = check().misses
    assert "t.py::test_double ends in ok on the starter, not in NotImplementedError" in found
    assert "t.py::test_negated is a guard, and fails on the starter (error:NotImplementedError)" in found


def test_what_the_branch_would_leak_is_a_miss(check):
    (check.folder / "tests/test_public.py").write_text((check.folder / "hidden/test_hidden.py").read_text())
    assert check().misses == ["lab/l01 would show challenges/l01_double/hidden/test_hidden.py as tests/test_public.py"]


def test_old_fingerprints_come_back_when_writing_fails(check, monkeypatch):
    check()
    before = (check.folder / "fingerprints.json").read_bytes()

    def broken(*arguments, **more):
        raise KeyboardInterrupt

    monkeypatch.setattr(gate, "grade_jobs", broken)
    with pytest.raises(KeyboardInterrupt):
        check()
    assert (check.folder / "fingerprints.json").read_bytes() == before


def test_a_guard_that_no_mistake_trips_and_a_topic_without_hints_are_misses(check):
    (check.folder / "mistakes/offset.py").unlink()
    edit(check.folder / "hints.yaml", "sum:", "sums:")
    found = check().misses
    assert "no mistake trips the guard t.py::test_negated: write one that does" in found
    assert "hints.yaml has no topic sum, which a hidden test names" in found


def test_an_editable_file_without_a_hole_is_a_miss(check):
    path = check.folder / "lab.yaml"
    path.write_text(path.read_text() + "editable: [mini_infra/tiny/ops.py, mini_infra/tiny/__init__.py]\n")
    for mistake in (check.folder / "mistakes").glob("*.py"):
        mistake.write_text(mistake.read_text().replace('"""\n', '"""\n\n# file: mini_infra/tiny/ops.py\n'))
    assert check().misses == ["mini_infra/tiny/__init__.py is editable and has no hole: take it out of `editable`"]
