"""One grading: trusted tree + the learner's editable blobs -> jail -> hidden tests -> Report."""

import contextlib
import json
import secrets
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from grading.course.catalog import Course, Lab
from grading.course.seals import mainline_settings, with_probes
from grading.course.snapshots import SnapshotError
from grading.course.submission import Refused, Submission
from grading.course.trees import Tree, reference_tree, run_settings, starter_tree, stub_message, tree_digest
from grading.judge.process import Judge, wants_reference
from grading.judge.report import Refusal, Report, TestResult, Verdict
from grading.sandbox import jail
from grading.sandbox.lint import lint

OnEvent = Callable[[dict[str, Any]], None]
SESSION_SLACK_S = 60.0


@dataclass
class _Run:
    """What came back from one judge process."""

    expected: list[str] = field(default_factory=list)
    results: list[TestResult] = field(default_factory=list)
    infra: str = ""
    code: int | None = None


def grade(
    course: Course,
    lab: Lab,
    submission: Submission | Refused,
    *,
    seed: int | None = None,
    jailed: bool = True,
    on_event: OnEvent | None = None,
    tests: str = "hidden",
    select: str | None = None,
    linted: bool = True,
    judge: Judge | None = None,
    shuffled: bool = False,
    seal: str = "patch",
    starter: Tree | None = None,
) -> Report:
    """Grade `submission` and report. Never raises for anything a learner can do; our own trouble is INFRA.

    `tests` is "hidden" or "public"; `select` is pytest's -k; `jailed=False` runs on this machine as it is and marks
    the report as not counting; `linted=False` is for the attack corpus, which proves that the wall holds alone;
    `judge` is a process that is there already: a spare, or one to share (see judge_for); `shuffled`: the tests in an
    order drawn by the seed. With `seal="mainline"` the tests are those that hold the patch against upstream; a
    snapshot that is not fetched is INFRA. `starter`: the tree that the submission is laid over, where it is there
    already.
    """
    begun = time.monotonic()
    starter = starter or starter_tree(course, lab)
    seed = secrets.randbits(48) if seed is None else seed
    status = jail.status() if jailed else None
    base = {"lab": lab.id, "title": lab.title, "base": tree_digest(starter), "seed": seed, "seal": seal}
    base |= {"jail": status.kind or "none" if status else "none", "counts": jailed}
    if isinstance(submission, Refused):
        refusals = [Refusal(**vars(refusal)) for refusal in submission.refusals]
        return _refused(base | {"commit": None}, refusals, begun)
    base |= _about(submission)
    if linted and (refusals := _lint(lab, submission, starter)):
        return _refused(base, refusals, begun, "The patch does something that no lab needs.")
    if status and not status.ok:
        reason = f"no jail on this machine: {status.reason}. {status.fix}"
        return Report(**base, verdict=Verdict.INFRA, reason=reason, seconds=_since(begun))
    try:
        settings = mainline_settings(course, lab) if seal == "mainline" else run_settings(lab)
    except SnapshotError as error:
        return Report(**base, verdict=Verdict.INFRA, reason=str(error), seconds=_since(begun))
    folder = "mainline" if seal == "mainline" else "hidden" if tests == "hidden" else "tests"
    job = {"seed": seed, "tests": str(lab.folder / folder), "select": select, "shuffled": shuffled}
    trees = starter | submission.blobs, reference_tree(course, lab, starter)
    plan = _Plan(lab, *trees, job, jailed, judge, settings)
    run = plan.carry_out(on_event or (lambda event: None))
    verdict, reason = verdict_of(run, submission)
    if tests == "public" and submission.holes_filled:
        base["warnings"] += _unwritten(lab, submission)
    return Report(**base, verdict=verdict, reason=reason, tests=run.results, seconds=_since(begun))


def verdict_of(run: _Run, submission: Submission) -> tuple[Verdict, str]:
    """The verdict and one sentence. PASS needs every expected test, once, passed, and one that is no guard."""
    if run.infra:
        return Verdict.INFRA, run.infra
    for kind, verdict in (("tamper", Verdict.TAMPER), ("timeout", Verdict.TIMEOUT)):
        if hit := next((r for r in run.results if kind in (r.kind, r.outcome)), None):
            return verdict, hit.message + _not_run(run)
    if any(result.outcome == "failed" for result in run.results):
        return Verdict.FAIL, "" if submission.holes_filled else "The holes are not filled yet: this is the starter."
    passed = [result.id for result in run.results if result.outcome == "passed"]
    if sorted(passed) == sorted(run.expected) and any(not result.guard for result in run.results):
        return Verdict.PASS, ""
    missing = sorted(set(run.expected) - set(passed))
    if any(result.outcome == "not_run" for result in run.results):
        return Verdict.TIMEOUT, f"the grading's time was used up before {len(missing)} tests"
    return Verdict.INFRA, f"no result for {', '.join(missing) or 'any test'}"


def _not_run(run: _Run) -> str:
    skipped = sum(result.outcome == "not_run" for result in run.results)
    return f"; {skipped} tests were not run after that" if skipped else ""


def _about(submission: Submission) -> dict[str, Any]:
    warnings = [Refusal(**vars(warning)) for warning in submission.warnings]
    return {
        "commit": submission.commit,
        "not_graded": submission.not_graded,
        "warnings": warnings,
        "moved": not submission.descends,
    }


def _unwritten(lab: Lab, submission: Submission) -> list[Refusal]:
    """The holes that still are stubs: public tests do not reach every one."""
    found = []
    for path, names in lab.hole_files.items():
        lines = submission.blobs[path].decode("utf-8", "replace").splitlines()
        for name in names:
            stub = f'"{stub_message(lab.id, name)}"'
            number = next((number for number, line in enumerate(lines, 1) if stub in line), None)
            if number is not None:
                found.append(Refusal(path=path, line=number, reason=f"{name} is not written yet"))
    return found


def _refused(base: dict[str, Any], refusals: list[Refusal], begun: float, reason: str = "") -> Report:
    return Report(**base, verdict=Verdict.REFUSED, reason=reason, refusals=refusals, seconds=_since(begun))


def _since(begun: float) -> float:
    return round(time.monotonic() - begun, 3)


def _lint(lab: Lab, submission: Submission, starter: Tree) -> list[Refusal]:
    inside = [path for path in starter if path.startswith("mini_infra/")]
    found: list[Refusal] = []
    for path, blob in sorted(submission.blobs.items()):
        source, given = blob.decode("utf-8-sig"), starter[path].decode("utf-8-sig")
        found += [Refusal(**vars(refusal)) for refusal in lint(path, source, given, lab, inside)]
    return found


@dataclass(frozen=True)
class _Plan:
    """One grading that is to be carried out, and the process to do it in, where there is one already."""

    lab: Lab
    tree: Tree
    reference: Tree
    job: dict[str, Any]
    jailed: bool
    judge: Judge | None
    settings: dict[str, Any]

    def carry_out(self, on_event: OnEvent) -> _Run:
        """Run the judge; trouble of our own gets one more try, in a fresh process, and says so."""
        run = self._in(self.judge, on_event) if self.judge else self._afresh(on_event)
        if not run.infra:
            return run
        again = self._afresh(on_event)
        again.infra = again.infra and f"{again.infra} (tried twice)"
        return again

    def _afresh(self, on_event: OnEvent) -> _Run:
        try:
            with judge_for(self.lab, self.jailed, self.settings) as judge:
                return self._in(judge, on_event)
        except OSError as error:
            return _Run(infra=f"{type(error).__name__}: {error}")

    def _in(self, judge: Judge, on_event: OnEvent) -> _Run:
        run, tree, reference = _Run(), self.tree, self.reference
        if "recipes" in self.settings:
            tree, reference = with_probes(self.lab, tree), with_probes(self.lab, reference)
        timeout_s = self.settings["limits"]["wall_s"] + SESSION_SLACK_S
        for event in judge.run(tree, self.lab.editable_paths, reference, self.job, timeout_s):
            _take(run, event, on_event)
        run.infra = run.infra or self._unexpected(run)
        return run

    def _unexpected(self, run: _Run) -> str:
        """The list of hidden tests is committed with the fingerprints: a test that vanished must not pass unseen."""
        if run.code not in (0, 1):
            return f"pytest ended with status {run.code}"
        committed = self.lab.folder / "fingerprints.json"
        if Path(self.job["tests"]).name != "hidden" or self.job["select"] or not committed.is_file():
            return ""
        if sorted(json.loads(committed.read_text())["tests"]) == sorted(run.expected):
            return ""
        return f"{self.lab.id}'s hidden tests are not those of fingerprints.json: run labs check {self.lab.id} --write"


@contextlib.contextmanager
def judge_for(lab: Lab, jailed: bool = True, settings: dict[str, Any] | None = None) -> Iterator[Judge]:
    """A judge's process for `lab`. Shared by several gradings only where all of them are of the course's own code.

    `settings`: those of a Mainline seal (seals.mainline_settings), else the lab's own.
    """
    settings = settings or run_settings(lab)
    judge = Judge(settings, "recipes" in settings or wants_reference(lab), jailed)
    try:
        yield judge
    finally:
        judge.close()


def _take(run: _Run, event: dict[str, Any], on_event: OnEvent) -> None:
    if event["event"] == "start":
        run.expected = event["ids"]
        on_event({"event": "start", "tests": len(run.expected)})
    elif event["event"] == "test":
        result = event["result"]
        run.results.append(result)
        told = {"id": result.id, "outcome": result.outcome, "sentence": result.sentence}
        on_event({"event": "test", "index": len(run.results), "of": len(run.expected), **told})
    elif event["event"] == "infra":
        run.infra = run.infra or event["reason"]
    else:
        run.code = event["code"]
