"""A report as points: what the reporters of GitHub Classroom and of Classroom 50 read.

GitHub Classroom: github-education-resources/autograding-grading-reporter, src/main.js and src/notify-classroom.js.
Classroom 50: foundation50/classroom50, wiki page Advanced-Autograding, "The result.json contract".
"""

import base64
import json
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from grading.feedback import outline
from grading.feedback.escape import clip
from grading.judge.report import Report, Verdict

SCHEMA = "classroom50/result/v1"
VARIABLES = {  # field of result.json -> what Classroom 50's runner sets
    "classroom": "CLASSROOM",
    "assignment": "ASSIGNMENT",
    "submission": "SUBMISSION_TAG",
    "commit": "COMMIT_URL",
    "release": "RELEASE_URL",
    "review": "REVIEW_URL",
}
VOID = (Verdict.REFUSED, Verdict.TAMPER, Verdict.INFRA)
MOST_MESSAGE = 400  # characters


@dataclass(frozen=True)
class Point:
    """One hidden test, worth one point. `message` is one line, empty when it passed."""

    name: str
    passed: bool
    message: str


def points(report: Report, ids: Sequence[str]) -> list[Point]:
    """A point for each of the lab's hidden tests `ids`, so that a lab is always out of the same number.

    A patch that was refused has none, and neither has the starter: what was given counts once anything else passes.
    """
    found = {test.id: test for test in report.tests}
    alive = report.verdict not in VOID and any(test.outcome == "passed" and not test.guard for test in report.tests)
    given = []
    for name in ids or list(found):
        test = found.get(name)
        passed = alive and test is not None and test.outcome == "passed"
        says = f"{test.sentence} {outline.why(test)}" if test in report.failed else _why(report)
        given.append(Point(name, passed, "" if passed else " ".join(clip(says, MOST_MESSAGE).split())))
    return given


def _why(report: Report) -> str:
    """Why a test that did not fail has no point."""
    if report.refusals:
        first = report.refusals[0]
        return f"{report.verdict}: {first.path}:{first.line or 1}: {first.reason}"
    return f"{report.verdict}: {report.reason or 'nothing that was to be written passes its tests yet'}"


def for_classroom(report: Report, ids: Sequence[str]) -> str:
    """The value of `<RUNNER>_RESULTS` in the reporter's environment: base64 of JSON, one line."""
    given = points(report, ids)
    tests = [
        {"name": one.name, "status": "pass" if one.passed else "fail", "score": int(one.passed), "message": one.message}
        for one in given
    ]
    status = {Verdict.PASS: "pass", Verdict.INFRA: "error"}.get(report.verdict, "fail")
    content = {"status": status, "max_score": len(given), "tests": tests}
    return base64.b64encode(json.dumps(content).encode()).decode()


def for_classroom50(report: Report, ids: Sequence[str], environment: Mapping[str, str], when: str) -> dict[str, Any]:
    """The content of result.json; `when` is the commit's date. Owner and kind of assignment are the runner's to add."""
    tests = [
        {"test-name": one.name, "passed": one.passed, "score": int(one.passed), "max-score": 1, "message": one.message}
        for one in points(report, ids)
    ]
    named = {field: environment[variable] for field, variable in VARIABLES.items()}
    totals = {"score": sum(test["score"] for test in tests), "max-score": len(tests)}
    return {"schema": SCHEMA, **named, "datetime": when, **totals, "tests": tests}


def lacking(environment: Collection[str]) -> list[str]:
    """The variables that Classroom 50's runner sets and that are not there."""
    return [variable for variable in VARIABLES.values() if variable not in environment]
