"""One grading carried out in a judge's process: jobs go in, results come back, and what is our fault is tried again."""

import contextlib
import json
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from grading.course.catalog import Lab
from grading.course.seals import with_probes
from grading.course.trees import Tree, run_settings
from grading.judge.process import Judge, wants_reference
from grading.judge.report import TestResult

OnEvent = Callable[[dict[str, Any]], None]
SESSION_SLACK_S = 60.0
SLOW_MACHINE = "slow machine: the reference does not answer in time either"


@dataclass
class Run:
    """What came back from one judge process."""

    expected: list[str] = field(default_factory=list)
    results: list[TestResult] = field(default_factory=list)
    infra: str = ""
    code: int | None = None

    def take(self, event: dict[str, Any], on_event: OnEvent) -> None:
        """Keep what an event brings, and tell the listener."""
        if event["event"] == "start":
            self.expected = event["ids"]
            on_event({"event": "start", "tests": len(self.expected), "ids": self.expected})
        elif event["event"] == "test":
            result = event["result"]
            self.results.append(result)
            told = {"id": result.id, "outcome": result.outcome, "sentence": result.sentence}
            on_event({"event": "test", "index": len(self.results), "of": len(self.expected), **told})
        elif event["event"] == "infra":
            self.infra = self.infra or event["reason"]
        else:
            self.code = event["code"]

    def late(self) -> list[str]:
        """The tests that ran out of time, and those that were not run because of them."""
        if not any(result.outcome == "timeout" for result in self.results):
            return []
        return [result.id for result in self.results if result.outcome in ("timeout", "not_run")]

    def add(self, standing: Sequence[TestResult]) -> None:
        """Results that held before and do still."""
        self.expected = [*self.expected, *(result.id for result in standing)]
        self.results += standing

    def replace(self, later: "Run") -> None:
        """Let the results of another run stand for ours, where it has some."""
        fresh = {result.id: result for result in later.results if result.outcome != "not_run"}
        self.results = [fresh.get(result.id, result) for result in self.results]


@dataclass(frozen=True)
class Plan:
    """One grading that is to be carried out, and the process to do it in, where there is one already."""

    lab: Lab
    tree: Tree
    reference: Tree
    theirs: Sequence[str]  # paths of the tree that are the learner's
    job: dict[str, Any]
    jailed: bool
    judge: Judge | None
    settings: dict[str, Any]

    def carry_out(self, on_event: OnEvent) -> Run:
        """Run the judge; trouble of our own gets one more try, in a fresh process, and says so."""
        ready = self.judge and not self.judge.broken
        run = self._in(self.judge, on_event) if ready else self._afresh(on_event)
        if not run.infra:
            return run
        again = self._afresh(on_event)
        again.infra = again.infra and f"{again.infra} (tried twice)"
        return again

    def _afresh(self, on_event: OnEvent) -> Run:
        try:
            with judge_for(self.lab, self.jailed, self.settings) as judge:
                return self._in(judge, on_event)
        except OSError as error:
            return Run(infra=f"{type(error).__name__}: {error}")

    def _in(self, judge: Judge, on_event: OnEvent) -> Run:
        begun = time.monotonic()
        run = self._one_job(judge, self.tree, self.job, on_event)
        run.infra = run.infra or self._unexpected(run)
        left_s = self.settings["limits"]["wall_s"] - (time.monotonic() - begun)
        if not run.infra and run.late() and left_s > 0:
            on_event({"event": "again", "tests": len(run.late())})
            self._once_more(judge, run, left_s)
        return run

    def _once_more(self, judge: Judge, run: Run, left_s: float) -> None:
        """What ran out of time runs again with no other grading beside it, up to the first that does so once more.

        Where the reference is as late with that test, the machine is to blame.
        """
        job = self.job | {"first": run.late(), "only": True, "alone": True, "timeouts": 1, "wall_s": left_s}
        again = self._one_job(judge, self.tree, job)
        run.replace(again)
        if late := again.late():
            control = self._one_job(judge, self.reference, job | {"first": late[:1]})
            run.infra = SLOW_MACHINE if control.late() else ""

    def _one_job(self, judge: Judge, tree: Tree, job: dict[str, Any], on_event: OnEvent = lambda event: None) -> Run:
        run, reference = Run(), self.reference
        if "recipes" in self.settings:
            tree, reference = with_probes(self.lab, tree), with_probes(self.lab, reference)
        timeout_s = self.settings["limits"]["wall_s"] + SESSION_SLACK_S
        for event in judge.run(tree, self.theirs, reference, job, timeout_s):
            run.take(event, on_event)
        return run

    def _unexpected(self, run: Run) -> str:
        """The list of hidden tests is committed with the fingerprints: a test that vanished must not pass unseen."""
        if run.code not in (0, 1):
            return run.infra or f"pytest ended with status {run.code}"
        committed = self.lab.folder / "fingerprints.json"
        chosen = self.job["select"] or self.job["only"] or "gpu" in self.settings
        if Path(self.job["tests"]).name != "hidden" or chosen or not committed.is_file():
            return ""
        if sorted(json.loads(committed.read_text())["tests"]) == sorted(run.expected):
            return ""
        return f"{self.lab.id}'s hidden tests are not those of fingerprints.json: run labs check {self.lab.id} --write"


def judge_of(lab: Lab, jailed: bool = True, settings: dict[str, Any] | None = None) -> Judge:
    """A judge's process for `lab`; close it. Shared by several gradings only where all are of the course's own code.

    `settings`: those of a Mainline seal or of the GPU tests (course.seals), else the lab's own.
    """
    settings = settings or run_settings(lab)
    return Judge(settings, "recipes" in settings or wants_reference(lab), jailed)


@contextlib.contextmanager
def judge_for(lab: Lab, jailed: bool = True, settings: dict[str, Any] | None = None) -> Iterator[Judge]:
    """The same, closed at the end."""
    with contextlib.closing(judge_of(lab, jailed, settings)) as judge:
        yield judge
