"""A learner's way through a lab; the judge is told the verdict (tests/fake_hook.py), git is real."""

import json
import sys
from pathlib import Path

import fake_hook
import pytest

from grading.delivery import hub, local, practice
from grading.judge.report import Report, TestResult

OPS = "mini_infra/tiny/ops.py"


@pytest.fixture
def work(labs, clone, tmp_path):
    """l01 started in tmp_path/l01, its hub with the judge that does as it is told."""
    assert labs("start", "l01", folder=clone).code == 0
    hook = clone / ".git/labs/hub.git/hooks/proc-receive"
    hook.write_text(f"#!/bin/sh\nunset $(git rev-parse --local-env-vars)\nexec {sys.executable} {fake_hook.__file__}\n")
    return tmp_path / "l01"


def answer(work: Path, git, verdict: str) -> None:
    (work / OPS).write_text((work / OPS).read_text() + f"# verdict: {verdict}\n")
    git(work, "commit", "-q", "-am", verdict)


def test_start_makes_a_work_tree_a_hub_and_a_push_target(labs, clone, tmp_path, git):
    said = labs("start", "l01", folder=clone)
    assert said.code == 0
    assert f"made {tmp_path / 'l01'}, branch l01" in said.out
    assert "This machine: jail: no bwrap. Install bubblewrap\n" in said.out
    assert git(tmp_path / "l01", "rev-parse", "--abbrev-ref", "HEAD").strip() == "l01"
    assert git(clone, "remote").split() == ["hub", "origin"]
    assert git(clone, "config", "branch.l01.pushRemote").strip() == "hub"
    assert git(clone, "rev-parse", "l01") == git(clone, "rev-parse", "hub/lab/l01")
    assert not (tmp_path / "l01" / "challenges").exists()
    assert local.load_here(clone)["l01"].branch == "l01"
    again = labs("start", "l01", folder=clone)
    assert again.code == 0
    assert "already there" in again.out
    assert labs("start", "l02", tmp_path / "elsewhere", folder=clone).code == 0
    assert (tmp_path / "elsewhere" / "README.md").is_file()


def test_start_uses_the_remote_that_has_the_branch(labs, clone, tmp_path, git, tiny):
    hub.init(tmp_path / "class.git", tiny.root, jailed=False)
    git(clone, "remote", "add", "class", tmp_path / "class.git")
    git(clone, "fetch", "-q", "class")
    assert labs("start", "l01", folder=clone).code == 0
    assert git(clone, "config", "branch.l01.pushRemote").strip() == "class"
    assert not (clone / ".git/labs/hub.git").exists()


def test_start_refuses_a_folder_in_use(labs, clone, tmp_path):
    (tmp_path / "l01").mkdir()
    (tmp_path / "l01" / "thesis.tex").write_text("x")
    said = labs("start", "l01", folder=clone)
    assert (said.code, said.out) == (4, "")
    assert said.err == f"labs: {tmp_path / 'l01'} is not empty: give another folder, `labs start l01 DIR`\n"


def test_submit_streams_and_remembers(labs, work, git):
    answer(work, git, "FAIL")
    said = labs("submit", folder=work)
    assert said.code == 1
    assert said.out.startswith("grading lab/l01 at ")
    assert "1/1 failed   It doubles." in said.out
    answer(work, git, "PASS")
    (work / OPS).write_text((work / OPS).read_text().replace("# verdict: FAIL\n", ""))
    git(work, "commit", "-q", "-am", "right")
    said = labs("submit", "--json", folder=work)
    assert said.code == 0
    assert json.loads(said.out)["report"]["verdict"] == "PASS"
    assert json.loads(said.out)["attempt"] == 2
    state = local.load_here(work)["l01"]
    assert [mark.verdict for mark in state.attempts] == ["FAIL", "PASS"]
    assert labs("submit", folder=work).code == 0
    assert len(local.load_here(work)["l01"].attempts) == 2


def test_submit_wants_a_commit(labs, work):
    (work / OPS).write_text("changed\n")
    said = labs("submit", folder=work)
    assert said.code == 4
    assert said.err == f"labs: not committed yet: {OPS}. Only commits are graded: `git commit -am '…'` first\n"


def test_submit_of_a_branch_of_ones_own_is_graded_and_told(labs, work, git):
    git(work, "checkout", "-q", "--orphan", "mine")
    answer(work, git, "FAIL")
    said = labs("submit", folder=work)
    assert said.code == 1
    assert "lab/l01 has moved" in said.out
    assert json.loads(labs("submit", "--json", folder=work).out)["report"]["moved"] is True


def test_submit_of_a_refused_answer_exits_2(labs, work, git):
    (work / OPS).write_bytes(b"\0")
    git(work, "commit", "-q", "-am", "binary")
    assert labs("submit", folder=work).code == 2
    assert local.load_here(work)["l01"].attempts == []


def test_the_verdicts_of_a_lab_earn_its_solution(labs, work, git):
    said = labs("solution", folder=work)
    assert said.code == 4
    assert said.err.startswith("labs: after a PASS or 5 more attempts")
    answer(work, git, "PASS")
    assert labs("submit", folder=work).code == 0
    said = labs("solution", folder=work)
    assert said.code == 0
    assert "+    total += x\n" in said.out
    assert said.out.startswith(f"diff --git a/{OPS} b/{OPS}\n--- a/{OPS}\n+++ b/{OPS}\n")
    assert local.load_here(work)["l01"].solution.startswith("earned ")


def test_the_solution_is_a_patch_of_the_branch_and_taking_it_early_is_recorded(labs, work, git, tmp_path):
    said = labs("solution", "--anyway", folder=work)
    (tmp_path / "answer.diff").write_text(said.out)
    git(work, "apply", tmp_path / "answer.diff")
    assert "total += x" in (work / OPS).read_text()
    assert local.load_here(work)["l01"].solution.startswith("anyway ")


def test_hints_rise_and_are_counted(labs, work):
    assert labs("hint", folder=work).err == "labs: which topic? l01 has sum, zero: `labs hint TOPIC`\n"
    assert labs("hint", "nope", folder=work).err.startswith("labs: no topic 'nope'")
    assert labs("hint", "sum", folder=work).out == "Hint 1 of 3 on sum: Once more.\n"
    assert json.loads(labs("hint", "sum", "--json", folder=work).out)["level"] == 2
    assert [labs("hint", "sum", folder=work).out for _ in range(2)] == ["Hint 3 of 3 on sum: x + x.\n"] * 2
    assert local.load_here(work)["l01"].hints == {"sum": 3}


def test_test_runs_the_public_tests_and_says_when_there_is_no_jail(labs, work, monkeypatch):
    def fake(course, lab, answer, *, seed, jailed, tests, select, starter):
        assert (tests, select, seed) == ("public", "sum", 7)
        failed = TestResult(id="test_public.py::t", topic="zero", outcome="failed", kind="value", sentence="Zero.")
        base = {"lab": lab.id, "title": lab.title, "commit": None, "base": "x", "seconds": 1}
        return Report(**base, seed=seed, verdict="FAIL", counts=False, jail="none", tests=[failed])

    monkeypatch.setattr(practice, "grade", fake)
    said = labs("test", "-k", "sum", "--seed", "7", folder=work)
    assert said.code == 1
    assert said.out.startswith("No jail on this machine: your code runs as it is")
    assert "Zero." in said.out
    assert labs("hint", folder=work).out.startswith("Hint 1 of 3 on zero")
    assert json.loads(labs("test", "-k", "sum", "--seed", "7", "--json", folder=work).out)["report"]["seed"] == 7


def test_the_exam_is_a_script_and_keeps_its_outcome(labs, work, git, tmp_path):
    answer(work, git, "PASS")
    said = labs("exam", folder=work)
    assert said.code == 0
    assert "# Oral exam: l01 To double" in said.out
    assert "+# verdict: PASS" in said.out
    assert "SECRET" not in said.out
    assert "SECRET" in labs("exam", "--answers", folder=work).out
    form = tmp_path / "form.yaml"
    form.write_text("lab: l01\nexaminer: bob\npassed: true\nquestions:\n  a: {passed: false, note: vague}\n")
    assert labs("exam", "--record", form, folder=work).err.endswith("passed, but not in each question (a)\n")
    form.write_text(form.read_text().replace("passed: false", "passed: true"))
    assert labs("exam", "--record", form, folder=work).out == "l01: the exam is recorded as passed.\n"
    assert "exam" in local.load_here(work)["l01"].seals
    form.write_text("lab: l01\n")
    assert labs("exam", "--record", form, folder=work).code == 4
