"""Which known mistake a failing submission looks like, by the pattern of its failures (DESIGN 8).

A fingerprint is {test id: kind} plus {"note:<test id>": notes}; a test that was not run is absent. A mistake is
stored as {test id: {status: "always" | "sometimes"}}, merged over the seeds that the author gate tried.
"""

import ast
import json
from collections.abc import Iterable, Mapping
from itertools import combinations
from pathlib import Path

from grading.course.catalog import CourseError, Lab
from grading.course.syntax import parse
from grading.feedback import outline
from grading.judge.report import Model, Report, Verdict

Fingerprint = dict[str, str]
Stored = dict[str, dict[str, str]]

THRESHOLD = 0.25  # farther than this, no diagnosis is better than a wrong one
MISS, MISS_SOMETIMES, HIT_SOMETIMES = 1.0, 0.5, 0.1
NOTE = "note:"


class Diagnosis(Model):
    """The nearest known mistake. `distance` is 0 for the very same failures, 1 for none in common."""

    name: str
    text: str
    distance: float


def of(lab: Lab, report: Report) -> Diagnosis | None:
    """The known mistake that a failing report looks like; none where one plain reason explains every failure.

    Fingerprints are of the hidden tests: those of the Mainline seal are no part of them.
    """
    if report.verdict not in (Verdict.FAIL, Verdict.TIMEOUT) or outline.common(report) or report.seal != "patch":
        return None
    return nearest(fingerprint(report), load(lab), texts(lab))


def fingerprint(report: Report) -> Fingerprint:
    """The report's failures as statuses by test id, with a line of its own for each test's notes."""
    ran = [test for test in report.tests if test.outcome != "not_run"]
    notes = {NOTE + test.id: ", ".join(sorted(test.notes)) for test in ran if test.notes}
    return {test.id: test.kind for test in ran} | notes


def merge(fingerprints: Iterable[Fingerprint]) -> Stored:
    """What holds over several seeds: a status is "always" when no other was seen where the test ran."""
    seen: dict[str, set[str]] = {}
    for one in _with_empty_notes(list(fingerprints)):
        for key, status in one.items():
            seen.setdefault(key, set()).add(status)
    return {
        key: {status: "always" if len(statuses) == 1 else "sometimes" for status in sorted(statuses)}
        for key, statuses in sorted(seen.items())
    }


def _with_empty_notes(fingerprints: list[Fingerprint]) -> list[Fingerprint]:
    """A test that ran without the note it has under another seed gets the note ""."""
    notes = {key for one in fingerprints for key in one if key.startswith(NOTE)}
    return [{key: "" for key in notes if _ran(key, one)} | one for one in fingerprints]


def distance(fingerprint: Fingerprint, stored: Stored) -> float:
    """Share of the failing keys (failing on either side) on which the two disagree, between 0 and 1."""
    keys = [key for key in {*fingerprint, *stored} if _ran(key, fingerprint) and _ran(key, stored)]
    counted = [key for key in keys if not _clean(key, fingerprint, stored)]
    if not counted:
        return 1.0
    return sum(_cost(fingerprint.get(key, ""), stored.get(key, {"": "always"})) for key in counted) / len(counted)


def _ran(key: str, side: Mapping) -> bool:
    return key.removeprefix(NOTE) in side


def _clean(key: str, fingerprint: Fingerprint, stored: Stored) -> bool:
    fine = "" if key.startswith(NOTE) else "ok"
    return fingerprint.get(key, fine) == fine and set(stored.get(key, {fine: ""})) == {fine}


def _cost(status: str, statuses: Mapping[str, str]) -> float:
    sure = "always" in statuses.values()
    if status in statuses:
        return 0.0 if sure else HIT_SOMETIMES
    return MISS if sure else MISS_SOMETIMES


def nearest(
    fingerprint: Fingerprint, stored: Mapping[str, Stored], texts: Mapping[str, str] | None = None
) -> Diagnosis | None:
    """The nearest mistake within the threshold; None when nothing is near, or two are equally near and not exact."""
    ranked = sorted((distance(fingerprint, mistake), name) for name, mistake in stored.items())
    if not ranked or ranked[0][0] > THRESHOLD:
        return None
    best, name = ranked[0]
    if best > 0 and len(ranked) > 1 and ranked[1][0] == best:
        return None
    return Diagnosis(name=name, text=(texts or {}).get(name, ""), distance=round(best, 3))


def clash(stored: Mapping[str, Stored]) -> list[tuple[str, str]]:
    """Pairs of mistakes that no fingerprint can tell apart: the gate asks for a parameter or a note."""
    return [(a, b) for a, b in combinations(sorted(stored), 2) if stored[a] == stored[b]]


def load(lab: Lab) -> dict[str, Stored]:
    """The lab's stored mistakes by name; none where the catalogue is sealed or nothing was written yet."""
    mistakes = _file(lab)[1]
    return {name: {key: dict(statuses) for key, statuses in one.items()} for name, one in mistakes.items()}


def test_ids(lab: Lab) -> list[str]:
    """The lab's hidden tests in order, as the file lists them; none before it was written."""
    return _file(lab)[0]


def _file(lab: Lab) -> tuple[list[str], dict[str, Stored]]:
    path = lab.folder / "fingerprints.json"
    if not path.is_file():
        return [], {}
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
        return [str(one) for one in content["tests"]], {name: dict(one) for name, one in content["mistakes"].items()}
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        says = f"not a fingerprint file; write it with `labs check {lab.id} --write`"
        raise CourseError(f"{_shown(path)}: {says}") from error


def save(lab: Lab, tests: list[str], mistakes: Mapping[str, Stored]) -> None:
    """Write fingerprints.json: the test ids in order, then each mistake's statuses, one key a line."""
    blocks = [f"{json.dumps(name)}: {_block(mistakes[name])}" for name in sorted(mistakes)]
    ids = ",\n  ".join(map(json.dumps, tests))
    known = ",\n  ".join(blocks)
    text = f'{{\n "tests": [\n  {ids}\n ],\n "mistakes": {{\n  {known}\n }}\n}}\n'
    (lab.folder / "fingerprints.json").write_text(text, encoding="utf-8")


def _block(stored: Stored) -> str:
    rows = ",\n   ".join(f"{json.dumps(key)}: {json.dumps(statuses)}" for key, statuses in stored.items())
    return f"{{\n   {rows}\n  }}"


def texts(lab: Lab) -> dict[str, str]:
    """What a learner who made a mistake should read: the docstring of each mistakes/NAME.py, never imported."""
    return {path.stem: _docstring(path) for path in sorted((lab.folder / "mistakes").glob("*.py"))}


def _docstring(path: Path) -> str:
    try:
        text = ast.get_docstring(parse(path.read_bytes()))
    except SyntaxError as error:
        raise CourseError(f"{_shown(path)}:{error.lineno}: {error.msg}") from error
    if not text:
        raise CourseError(f"{_shown(path)}:1: a mistake needs a docstring: the diagnosis that the learner reads")
    return text


def _shown(path: Path) -> str:
    """From the course's root: challenges/l05_…/mistakes/NAME.py."""
    return path.as_posix()[path.as_posix().rfind("challenges/") :]
