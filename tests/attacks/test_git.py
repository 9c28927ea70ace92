"""Table A: tampering by git. Each commit is judged by the engine alone, then pushed to a hub as its learner would."""

import re
import tempfile

import pytest
from corpus import cases, nothing_left
from ground import Ground
from synthetic import write_course

from grading.course.catalog import Course
from grading.feedback.advice import Advice
from grading.feedback.terminal import render_text
from grading.judge.grade import judge_for

CASE_S = 60.0
VERDICT = re.compile(r"remote:\s+[✓✗◷⊘] (PASS|FAIL|TIMEOUT|REFUSED|TAMPER|INFRA)  l\d\d")


@pytest.fixture(scope="module")
def judge(tmp_path_factory):
    """One warm judge for all of these: their code is harmless, only the way it comes is not."""
    course = Course.load(write_course(tmp_path_factory.mktemp("course")))
    with judge_for(course.lab("l01")) as shared:
        yield shared


@pytest.fixture
def temporary(tmp_path, monkeypatch):
    """The temporary folder of this process and of all that it starts."""
    folder = tmp_path / "tmp"
    folder.mkdir()
    monkeypatch.setenv("TMPDIR", str(folder))
    monkeypatch.setattr(tempfile, "tempdir", str(folder))
    return folder


@pytest.mark.parametrize("case", cases("git"))
def test_tampering_by_git(case, judge, temporary, tmp_path):
    with nothing_left(temporary, CASE_S):
        ground = Ground(tmp_path, judge, real=getattr(case, "REAL", False))
        seen = list(_commits(case, ground)) + [_outcome(said, case) for said in _pushes(case, ground)]
        assert set(seen) == {case.EXPECTED}
        ground.assert_sound()


def _commits(case, ground):
    """The engine's verdict on each commit; the first that it refuses must be no attempt for a hub either."""
    pushed = False
    for sha in case.commits(ground) if hasattr(case, "commits") else []:
        report = ground.graded(sha)
        text = render_text(report, Advice(repeat_command="labs grade l01"), width=400)
        assert re.search(getattr(case, "SAYS", ""), text), text
        if hasattr(case, "check"):
            case.check(ground, report)
        if report.verdict == "REFUSED" and not pushed:
            pushed = True
            assert _verdict(ground.push_commit(sha)) in ("REFUSED", "rejected")
            assert [ref for ref in ground.refs() if "attempts" in ref] == []
        yield str(report.verdict)


def _pushes(case, ground):
    return case.pushes(ground) if hasattr(case, "pushes") else []


def _outcome(said: str, case) -> str:
    assert re.search(getattr(case, "SAYS", ""), said), said
    assert "Traceback" not in said
    return case.outcome(said) if hasattr(case, "outcome") else _verdict(said)


def _verdict(said: str) -> str:
    """The verdict in what a push said; "rejected" where git or the hub did not take it."""
    found = VERDICT.search(said)
    return found[1] if found and said.startswith("0 ") else "rejected"
