"""What the reporters of two classrooms read, to the byte."""

import base64
import json

import pytest
from feedback_examples import report

from grading.feedback import classroom
from grading.judge.report import Refusal, TestResult

IDS = ["t.py::test_a", "t.py::test_b[2]", "t.py::test_given"]
RUNNER = {
    "CLASSROOM": "systems-2026",
    "ASSIGNMENT": "l05",
    "SUBMISSION_TAG": "submit/2026-11-01T10-00-00Z-8c1f0a6",
    "COMMIT_URL": "https://github.com/o/r/commit/8c1f",
    "RELEASE_URL": "https://github.com/o/r/releases/tag/submit%2F2026",
    "REVIEW_URL": "https://github.com/o/r/compare/0000...8c1f",
    "HOME": "/root",
}


def result(name: str, outcome: str, sentence: str, **more) -> TestResult:
    return TestResult(
        id=name, outcome=outcome, kind="ok" if outcome == "passed" else "value", sentence=sentence, **more
    )


A, A_WRONG = (result(IDS[0], outcome, "A is doubled.") for outcome in ("passed", "failed"))
B = result(IDS[1], "failed", "B stays.", message="4 is\n::error::not 2")
GIVEN = result(IDS[2], "passed", "Given.", guard=True)


def decoded(line: str) -> dict:
    assert "\n" not in line
    return json.loads(base64.b64decode(line))


def test_github_classroom_gets_a_point_a_test():
    assert decoded(classroom.for_classroom(report("FAIL", [A, B, GIVEN]), IDS)) == {
        "status": "fail",
        "max_score": 3,
        "tests": [
            {"name": "t.py::test_a", "status": "pass", "score": 1, "message": ""},
            {
                "name": "t.py::test_b[2]",
                "status": "fail",
                "score": 0,
                "message": "B stays. 4 is :\u200b:error::not 2",
            },
            {"name": "t.py::test_given", "status": "pass", "score": 1, "message": ""},
        ],
    }


def test_classroom50_gets_its_result_json():
    assert classroom.for_classroom50(report("FAIL", [A, B, GIVEN]), IDS, RUNNER, "2026-11-01T09:59:58Z") == {
        "schema": "classroom50/result/v1",
        "classroom": "systems-2026",
        "assignment": "l05",
        "submission": "submit/2026-11-01T10-00-00Z-8c1f0a6",
        "commit": "https://github.com/o/r/commit/8c1f",
        "release": "https://github.com/o/r/releases/tag/submit%2F2026",
        "review": "https://github.com/o/r/compare/0000...8c1f",
        "datetime": "2026-11-01T09:59:58Z",
        "score": 2,
        "max-score": 3,
        "tests": [
            {"test-name": "t.py::test_a", "passed": True, "score": 1, "max-score": 1, "message": ""},
            {
                "test-name": "t.py::test_b[2]",
                "passed": False,
                "score": 0,
                "max-score": 1,
                "message": "B stays. 4 is :\u200b:error::not 2",
            },
            {"test-name": "t.py::test_given", "passed": True, "score": 1, "max-score": 1, "message": ""},
        ],
    }


@pytest.mark.parametrize(
    ("graded", "status", "scores", "says"),
    [
        (report("PASS", [A, result(IDS[1], "passed", "B stays."), GIVEN]), "pass", [1, 1, 1], ""),
        (report("FAIL", [A_WRONG, B, GIVEN]), "fail", [0, 0, 0], "A is doubled. The values differ."),
        (report("TAMPER", [A, B, GIVEN], reason="bytes"), "fail", [0, 0, 0], "TAMPER: bytes"),
        (report("TIMEOUT", [A], reason="late"), "fail", [1, 0, 0], ""),
        (report("INFRA", [], reason="no jail"), "error", [0, 0, 0], "INFRA: no jail"),
        (
            report("REFUSED", [], refusals=[Refusal(path="a.py", line=3, reason="no eval")]),
            "fail",
            [0, 0, 0],
            "REFUSED: a.py:3: no eval",
        ),
    ],
    ids=lambda one: getattr(one, "verdict", None),
)
def test_every_verdict_is_out_of_as_many_points(graded, status, scores, says):
    content = decoded(classroom.for_classroom(graded, IDS))
    assert (content["status"], content["max_score"]) == (status, 3)
    assert [one["score"] for one in content["tests"]] == scores
    assert content["tests"][0]["message"] == says


def test_what_the_runner_did_not_set_is_named():
    assert classroom.lacking({"CLASSROOM": "", "COMMIT_URL": ""}) == [
        "ASSIGNMENT",
        "SUBMISSION_TAG",
        "RELEASE_URL",
        "REVIEW_URL",
    ]
