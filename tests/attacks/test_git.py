"""Table A: tampering by git. Each commit is judged by the engine alone, then pushed to a hub as its learner would."""

import re

import pytest
from corpus import cases, none, nothing_left
from ground import Ground

from grading.feedback.advice import Advice
from grading.feedback.terminal import render_text

CASE_S = 300.0  # a hang is told from a busy machine
VERDICT = re.compile(r"remote:\s+[✓✗◷⊘] (PASS|FAIL|TIMEOUT|REFUSED|TAMPER|INFRA)  l\d\d")


@pytest.mark.parametrize("case", cases("git"))
def test_tampering_by_git(case, judge, temporary, tmp_path):
    with nothing_left(temporary, CASE_S):
        ground = Ground(tmp_path, judge, real=getattr(case, "REAL", False))
        seen = list(_commits(case, ground)) + [_outcome(said, case) for said in _pushes(case, ground)]
        none("forged passes", [one for one in seen if one == "PASS" != case.EXPECTED])
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
