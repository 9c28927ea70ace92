"""One issue about newer upstream releases: opened once, kept up to date, closed when nothing is left of it."""

import json
import sys

import pytest
from fake_github import BOT, REPO

from grading.cli.main import main
from grading.delivery.github import drift
from grading.delivery.github.drift import Row
from grading.delivery.github.event import EventError

LOCK = """\
name: {name}
repository: https://github.com/upstream/{name}
ref: v1.0
version: "1.0"
licence: MIT
anchors:
  a.py::f: {{lines: [1, 2], source: 0123456789abcdef}}
"""
SAME = {"name": "alpha", "version": "1.1", "anchor": "a.py::f", "what": "same", "old": [1, 2], "new": [1, 2], "why": ""}
CHANGED = SAME | {"anchor": "a.py::g|h", "what": "changed", "new": [3, 5]}
GONE = SAME | {"name": "beta", "version": "2.0", "what": "gone", "new": None, "why": "no file a.py"}
BETA = SAME | {"name": "beta"}
SECTIONS = r"""

### alpha 1\.0 → 1\.1

| | definition | lines then | lines now | |
|---|---|---|---|---|
| changed | `a.py::g\|h` | 1-2 | 3-5 |  |

As they were: 1; only on other lines: 0.

### beta 1\.0 → 2\.0

| | definition | lines then | lines now | |
|---|---|---|---|---|
| gone | `a.py::f` | 1-2 |  | no file a.py |

As they were: 0; only on other lines: 0."""


@pytest.fixture
def pinned(tiny):
    (tiny.root / "upstream_snapshots").mkdir()
    for name in ("alpha", "beta"):
        (tiny.root / f"upstream_snapshots/{name}.yaml").write_text(LOCK.format(name=name))
    return tiny


def rows(*given: dict) -> list[Row]:
    return [Row.model_validate(one) for one in given]


def test_opened_once_rewritten_and_closed(pinned, forge, github):
    found = rows(SAME, CHANGED, GONE)
    assert drift.report(pinned, forge, found) == "opened"
    (issue,) = github.world.issues
    assert issue["title"] == drift.TITLE
    assert issue["body"] == f"{drift.MARKER}\n{drift.INTRO}{SECTIONS}"
    asked = len(github.requests)
    assert drift.report(pinned, forge, found) == "unchanged"
    assert github.requests[asked:] == [("GET", f"/repos/{REPO}/issues")]
    assert drift.report(pinned, forge, rows(SAME, CHANGED, BETA)) == "rewritten"
    assert "beta" not in issue["body"]
    assert drift.report(pinned, forge, rows(SAME, BETA | {"what": "moved"})) == "closed"
    assert (issue["state"], issue["body"]) == ("closed", f"{drift.MARKER}\n{drift.SETTLED}")
    assert drift.report(pinned, forge, rows(SAME, BETA)) == "nothing to report"
    assert len(github.world.issues) == 1


def test_what_a_maintainer_closed_stays_closed_until_something_new_comes(pinned, forge, github):
    drift.report(pinned, forge, rows(CHANGED, BETA))
    github.world.issues[0]["state"] = "closed"
    assert drift.report(pinned, forge, rows(CHANGED, BETA)) == "closed by a maintainer before"
    assert drift.report(pinned, forge, rows(CHANGED, GONE)) == "opened"
    assert [one["state"] for one in github.world.issues] == ["closed", "open"]


def test_a_missed_release_is_named_and_closes_nothing(pinned, forge, github):
    drift.report(pinned, forge, rows(CHANGED))
    assert github.world.issues[0]["body"].endswith("\n\nNot looked at this time: beta.")
    assert drift.report(pinned, forge, rows(SAME)) == "nothing to report"
    assert github.world.issues[0]["state"] == "open"


def test_anothers_issue_and_a_pull_request_are_not_ours(pinned, forge, github):
    marked = {"state": "open", "body": f"{drift.MARKER}\nforged", "html_url": "/mainline/course/issues/3"}
    github.world.issues += [
        {"number": 3, "user": {"id": 7, "login": "user7"}, **marked},
        {"number": 4, "user": {"id": 8, "login": BOT["login"]}, **marked},
        {"number": 5, "user": BOT, **marked, "html_url": "/mainline/course/pull/5"},
        {"number": 6, "user": BOT, **marked, "body": "another matter"},
    ]
    assert drift.report(pinned, forge, rows(CHANGED, BETA)) == "opened"
    assert [one["body"].endswith("forged") for one in github.world.issues] == [True, True, True, False, False]


@pytest.mark.parametrize("content", ["", "{}", '[{"name": 3}]', "[" * 5000])
def test_a_file_that_holds_something_else_is_one_line(tmp_path, content):
    (tmp_path / "drift.json").write_text(content)
    with pytest.raises(EventError, match="is not what `labs snapshots drift --json` prints"):
        drift.read(tmp_path / "drift.json")


def test_the_command(pinned, github, tmp_path, monkeypatch, capsys):
    (tmp_path / "drift.json").write_text(json.dumps([CHANGED]))
    monkeypatch.setenv("GITHUB_REPOSITORY", REPO)
    monkeypatch.setenv("GITHUB_TOKEN", "token")
    monkeypatch.setenv("GITHUB_API_URL", github.url)
    arguments = ["github", "drift", str(tmp_path / "drift.json"), "--course", str(pinned.root)]
    monkeypatch.setattr(sys, "argv", ["labs", *arguments])
    with pytest.raises(SystemExit) as ended:
        main()
    assert ended.value.code == 3
    assert capsys.readouterr().out == "the issue: opened\nbeta could not be looked at\n"
