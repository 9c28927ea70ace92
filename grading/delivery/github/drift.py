"""`labs github drift`: what `labs snapshots drift` found in newer upstream releases, kept in one issue.

The issue is the bot's own, known by its first line. It is opened once, rewritten while it is open, closed when nothing
is left to do, and not opened again for what a maintainer has closed it over.
"""

import json
from collections import Counter
from collections.abc import Iterable
from pathlib import Path
from typing import Literal

from pydantic import BaseModel, ConfigDict, TypeAdapter, ValidationError

from grading.course import snapshots
from grading.course.catalog import Course
from grading.course.snapshots import Lock
from grading.delivery.github.event import EventError
from grading.delivery.github.forge import Forge, Issue
from grading.feedback.escape import code, inline

MARKER = "<!-- labs:drift -->"
TITLE = "Upstream has moved on from the pinned releases"
INTRO = """\
Definitions that the course leans on are gone or have other code in upstream's newest releases. The course itself is
unchanged: it stays with the releases that it pins. What is wrong here is an answer to *what is new?*, not a failure.

To look at one: `labs snapshots drift NAME==VERSION`. To go along with upstream: pin the release anew
(`scripts/pin_snapshot.py`), then mend what `labs snapshots diff` and the Mainline seals of its labs say."""
SETTLED = "Every anchor is as it was in the pinned release, or only on other lines."


class Row(BaseModel):
    """One anchor as `labs snapshots drift --json` prints it; `new` is None where it is gone."""

    model_config = ConfigDict(extra="ignore", frozen=True)

    name: str
    version: str
    anchor: str
    what: Literal["same", "moved", "changed", "gone"]
    old: tuple[int, int]
    new: tuple[int, int] | None
    why: str = ""

    @property
    def counts(self) -> bool:
        return self.what in ("changed", "gone")


def read(path: Path) -> list[Row]:
    try:
        return TypeAdapter(list[Row]).validate_python(json.loads(path.read_bytes()))
    except (OSError, ValueError, ValidationError, RecursionError) as error:
        raise EventError(f"{path} is not what `labs snapshots drift --json` prints ({type(error).__name__})") from None


def unseen(course: Course, rows: Iterable[Row]) -> list[str]:
    """The releases with anchors of which there is no row: they could not be looked at."""
    seen = {row.name for row in rows}
    return [name for name, lock in snapshots.load(course.root).items() if lock.anchors and name not in seen]


def report(course: Course, forge: Forge, rows: list[Row]) -> str:
    """Open, rewrite or close the issue; says which, in a word or two. A run that missed a release closes nothing."""
    missed = unseen(course, rows)
    issues = [one for one in forge.issues() if one.body.split("\n", 1)[0] == MARKER]
    standing = next((one for one in issues if one.open), None)
    if not any(row.counts for row in rows):
        return _settle(forge, standing, missed)
    body = issue_text(snapshots.load(course.root), rows, missed)
    if standing is None and any(one.body == body for one in issues):
        return "closed by a maintainer before"
    if standing is None:
        forge.open_issue(TITLE, body)
        return "opened"
    if standing.body == body:
        return "unchanged"
    forge.edit_issue(standing.number, body)
    return "rewritten"


def _settle(forge: Forge, standing: Issue | None, missed: list[str]) -> str:
    if standing is None or missed:
        return "nothing to report"
    forge.edit_issue(standing.number, f"{MARKER}\n{SETTLED}", close=True)
    return "closed"


def issue_text(locks: dict[str, Lock], rows: list[Row], missed: list[str]) -> str:
    """Without a date, so that the same finding is the same text."""
    lines = [MARKER, INTRO]
    for name in dict.fromkeys(row.name for row in rows if row.counts):
        of = [row for row in rows if row.name == name]
        pinned = locks[name].version if name in locks else "?"
        lines += ["", f"### {inline(name)} {inline(pinned)} → {inline(of[0].version)}", ""]
        lines += ["| | definition | lines then | lines now | |", "|---|---|---|---|---|"]
        lines += [_line(row) for row in of if row.counts]
        counts = Counter(row.what for row in of)
        lines += ["", f"As they were: {counts['same']}; only on other lines: {counts['moved']}."]
    if missed:
        lines += ["", f"Not looked at this time: {', '.join(map(inline, missed))}."]
    return "\n".join(lines)


def _line(row: Row) -> str:
    then, now = ("-".join(map(str, lines)) if lines else "" for lines in (row.old, row.new))
    name = code(row.anchor).replace("|", "\\|")  # a table reads its bars first, inside code too
    return f"| {row.what} | {name} | {then} | {now} | {inline(row.why)} |"
