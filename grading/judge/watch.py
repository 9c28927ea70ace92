"""The public tests of a folder that is being worked on: after each save those that it touches, by a judge that is warm.

The judge's process is used for many runs, unlike a spare: nothing here counts, all the code is one learner's, and each
run is a fresh fork on both sides all the same. One that broke off is replaced.
"""

import os
import stat
import time
import warnings
from dataclasses import dataclass, field
from pathlib import Path

from grading.course.catalog import Course, Lab
from grading.course.holes import HoleError
from grading.course.reach import Reach, changed_places
from grading.course.submission import Refused, Submission, from_worktree
from grading.course.syntax import parse
from grading.course.trees import Tree, starter_tree
from grading.course.vetting import LIMIT
from grading.judge.carry import OnEvent, judge_of
from grading.judge.grade import grade
from grading.judge.report import Refusal, Report, TestResult, Verdict

BROKEN_OFF = {Verdict.REFUSED, Verdict.INFRA}


@dataclass(frozen=True)
class Round:
    """What one save led to. `report` has every test: those in `ran` as they ended now, the others as they stand.

    Where nothing could be run, `problem` says why, a line a place ("path:line: reason"), and there may be no report.
    """

    saved: list[str] = field(default_factory=list)
    ran: list[str] = field(default_factory=list)
    report: Report | None = None
    problem: str = ""
    seconds: float = 0.0


class Watch:
    """One lab's work in `folder`. Close it."""

    def __init__(self, course: Course, lab: Lab, folder: Path, jailed: bool):
        self.course, self.lab, self.folder, self.jailed = course, lab, folder, jailed
        self._judge = judge_of(lab, jailed)
        self._starter = starter_tree(course, lab)
        self._seen: dict[str, bytes | None] = {}
        self._ran: Tree = {}  # the files as they were when it was last found out what a save touches
        self._results: dict[str, TestResult] = {}  # in the order of the test file
        self._due: set[str] = set()
        self._report: Report | None = None

    def look(self) -> list[str]:
        """The editable files that are not as they were at the last look; at the first, all of them."""
        now = {path: _content(self.folder / path) for path in self.lab.editable_paths}
        saved = [path for path in now if path not in self._seen or now[path] != self._seen[path]]
        self._seen = now
        return saved

    def run(self, saved: list[str], on_event: OnEvent) -> Round:
        """Run what is due, the tests that failed last first."""
        begun = time.monotonic()
        on_event({"event": "saved", "paths": saved})
        try:
            answer = from_worktree(self.folder, self.lab, self._starter)
        except Refused as refused:
            return Round(saved, report=self._report, problem=str(refused))
        if problem := _syntax_errors(answer.blobs):
            return Round(saved, report=self._report, problem=problem)
        self._due |= self._touched(answer.blobs)
        self._ran = answer.blobs
        if self._results and not self._due:
            return Round(saved, report=self._report, seconds=time.monotonic() - begun)
        return self._graded(saved, answer, on_event, begun)

    def _touched(self, blobs: Tree) -> set[str]:
        """The tests known by now that the change since the last time touches."""
        if not self._results:
            return set()
        places = changed_places(self._ran, blobs)
        if not places:
            return set(self._results) if places is None else set()
        try:
            reach = self._reach(blobs)
        except HoleError:
            return set(self._results)
        return {test for test in self._results if reach.touches(test, places)}

    def _reach(self, blobs: Tree) -> Reach:
        files = {path: blob for path, blob in (self._starter | blobs).items() if path.endswith(".py")}
        texts = {path: blob.decode("utf-8-sig") for path, blob in files.items()}
        tests = {path: text for path, text in texts.items() if path.startswith("tests/")}
        return Reach({path: text for path, text in texts.items() if path not in tests}, tests)

    def _graded(self, saved: list[str], answer: Submission, on_event: OnEvent, begun: float) -> Round:
        failed = [test for test, result in self._results.items() if result.outcome != "passed"]
        order = [test for test in dict.fromkeys([*failed, *self._results]) if test in self._due]
        standing = [result for test, result in self._results.items() if test not in self._due]
        if self._judge.broken or not self._judge.alive:
            self._judge.close()
            self._judge = judge_of(self.lab, self.jailed)
        how = {"jailed": self.jailed, "tests": "public", "judge": self._judge, "starter": self._starter}
        report = grade(self.course, self.lab, answer, only=order, standing=standing, on_event=on_event, **how)
        seconds = time.monotonic() - begun
        if report.verdict in BROKEN_OFF:
            return Round(saved, report=self._report, problem=_why(report), seconds=seconds)
        fresh = {result.id: result for result in report.tests}
        self._results = {test: fresh[test] for test in [*self._results, *fresh]}
        self._due = {result.id for result in report.tests if result.outcome == "not_run"}
        self._report = report.model_copy(update={"tests": list(self._results.values())})
        return Round(saved, order or list(fresh), self._report, seconds=seconds)

    def close(self) -> None:
        self._judge.close()


def _content(path: Path) -> bytes | None:
    """None for what is no file of a size that is graded."""
    try:
        found = os.lstat(path)
        return path.read_bytes() if stat.S_ISREG(found.st_mode) and found.st_size <= LIMIT else None
    except OSError:
        return None


def _syntax_errors(blobs: Tree) -> str:
    found = []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for path, blob in blobs.items():
            try:
                parse(blob, path)
            except (SyntaxError, ValueError) as error:
                found.append(f"{path}:{getattr(error, 'lineno', None) or 1}: {getattr(error, 'msg', error)}")
    return "\n".join(found)


def _why(report: Report) -> str:
    return "\n".join(map(_place, report.refusals)) or report.reason


def _place(one: Refusal) -> str:
    return f"{one.path}:{one.line}: {one.reason}" if one.line else f"{one.path}: {one.reason}"
