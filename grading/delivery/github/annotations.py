"""Where in a learner's diff a report points to, as check-run annotations."""

import re
from collections.abc import Iterable

from grading.feedback import outline
from grading.feedback.escape import clip
from grading.judge.report import Report

HUNK = re.compile(r"^@@ -\d+(?:,\d+)? \+(\d+)(?:,(\d+))? @@", re.M)
MOST = 150
MOST_TITLE, MOST_MESSAGE = 255, 4000  # characters; GitHub takes 255 and 64 KB


def annotations(report: Report, patches: dict[str, str]) -> list[dict]:
    """One annotation for each refusal, failure and standing rank that points into the diff (`patches` by path).

    GitHub shows an annotation beside the code only where the pull request changes it, so no other line is named.
    """
    changed = {path: lines(patch) for path, patch in patches.items()}
    found = {(path, line): (title, message) for path, line, title, message in _points(report, changed)}
    return [_annotation(*place, *says) for place, says in found.items()][:MOST]


def lines(patch: str) -> set[int]:
    """The line numbers of the new file that a unified diff's hunks show."""
    hunks = [(int(first), int(count or 1)) for first, count in HUNK.findall(patch)]
    return {line for first, count in hunks for line in range(first, first + count)}


def _points(report: Report, changed: dict[str, set[int]]) -> Iterable[tuple[str, int, str, str]]:
    for refusal in report.refusals:
        if refusal.line in changed.get(refusal.path, ()):
            yield refusal.path, refusal.line, "Refused", refusal.reason
    for failure in outline.failures(report):
        test = failure.first
        own = [frame for frame in test.frames if frame.line in changed.get(frame.path, ())]
        if own:
            yield own[-1].path, own[-1].line, failure.title, outline.why(test)
        for stack in test.stacks:
            here = [frame for frame in stack.frames if frame.line in changed.get(frame.path, ())]
            if here:
                yield here[-1].path, here[-1].line, failure.title, stack.says


def _annotation(path: str, line: int, title: str, message: str) -> dict:
    return {
        "path": path,
        "start_line": line,
        "end_line": line,
        "annotation_level": "failure",
        "title": clip(title, MOST_TITLE - 8),
        "message": clip(message, MOST_MESSAGE) or "see the report",
    }
