"""`labs grade --format`: points on stdout, and an exit code that says only whether there is a verdict."""

import base64
import json

import pytest

OPS = "mini_infra/tiny/ops.py"
RUNNER = ["CLASSROOM", "ASSIGNMENT", "SUBMISSION_TAG", "COMMIT_URL", "RELEASE_URL", "REVIEW_URL"]


@pytest.fixture
def refused(tiny, clone, git, monkeypatch):
    """Options that grade a commit of 1 November 2026, 09:59:58 UTC, which the lint refuses: no test has to run."""
    monkeypatch.setenv("GIT_COMMITTER_DATE", "2026-11-01T10:59:58+01:00")
    (clone / OPS).write_text("import os\n" + (clone / OPS).read_text())
    git(clone, "commit", "-q", "-am", "answer")
    sha = git(clone, "rev-parse", "HEAD").strip()
    return ["grade", "l01", "--repo", clone, "--commit", sha, "--no-jail", "--course", tiny.root, "--format"]


def test_classroom(labs, refused, tmp_path):
    said = labs(*refused, "classroom", "--json", tmp_path / "report.json")
    assert (said.code, said.err) == (0, "")
    content = json.loads(base64.b64decode(said.out))
    assert content["status"] == "fail"
    assert json.loads((tmp_path / "report.json").read_text())["verdict"] == "REFUSED"


def test_classroom50(labs, refused, monkeypatch):
    for name in RUNNER:
        monkeypatch.setenv(name, f"the {name}")
    said = labs(*refused, "classroom50")
    assert (said.code, said.err) == (0, "")
    content = json.loads(said.out)
    assert (content["classroom"], content["review"]) == ("the CLASSROOM", "the REVIEW_URL")
    assert content["datetime"] == "2026-11-01T09:59:58Z"


def test_what_cannot_be(labs, refused, monkeypatch):
    monkeypatch.delenv("CLASSROOM", raising=False)
    said = labs(*refused, "classroom50")
    assert (said.code, said.out) == (4, "")
    assert "Classroom 50's runner sets CLASSROOM" in said.err
    assert labs(*refused, "classroom", "--json", "-").code == 4
    assert labs("grade", "--all", "--format", "classroom").code == 4


def test_no_result_where_there_is_no_verdict(labs, refused, monkeypatch):
    from grading.delivery import answers
    from grading.judge.report import Report

    none = Report(
        lab="l01", title="", commit=None, base="", seed=1, verdict="INFRA", counts=True, jail="none", seconds=0
    )
    monkeypatch.setattr(answers, "grade", lambda *given, **more: none.model_copy(update={"reason": "no jail"}))
    for name in RUNNER:
        monkeypatch.setenv(name, "x")
    said = labs(*refused, "classroom50")
    assert (said.code, said.out, said.err) == (3, "", "labs: no jail\n")
    said = labs(*refused, "classroom")
    assert said.code == 3
    assert json.loads(base64.b64decode(said.out))["status"] == "error"
