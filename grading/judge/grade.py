"""One grading: trusted tree + the learner's editable blobs -> jail -> hidden tests -> Report."""

import contextlib
import json
import os
import secrets
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Any

from grading.course.catalog import Course, Lab
from grading.course.closure import closure
from grading.course.submission import Refused, Submission
from grading.course.trees import Tree, reference_tree, run_settings, starter_tree, tree_digest
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
    ended: bool = False


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
) -> Report:
    """Grade `submission` and report. Never raises for anything a learner can do; our own trouble is INFRA.

    `tests` is "hidden" or "public"; `select` is pytest's -k; `jailed=False` runs on this machine as it is and marks
    the report as not counting; `linted=False` is for the attack corpus, which proves that the wall holds alone.
    """
    begun = time.monotonic()
    starter = starter_tree(course, lab)
    seed = secrets.randbits(48) if seed is None else seed
    status = jail.status() if jailed else None
    base = {"lab": lab.id, "title": lab.title, "base": tree_digest(starter), "seed": seed}
    base |= {"jail": status.kind or "none" if status else "none", "counts": jailed}
    if isinstance(submission, Refused):
        refusals = [Refusal(**vars(refusal)) for refusal in submission.refusals]
        return _refused(base | {"commit": None}, refusals, begun)
    base |= _about(submission)
    if linted and (refusals := _lint(course, lab, submission, starter)):
        return _refused(base, refusals, begun)
    if status and not status.ok:
        reason = f"no jail on this machine: {status.reason}. {status.fix}"
        return Report(**base, verdict=Verdict.INFRA, reason=reason, seconds=_since(begun))
    plan = _Plan(course, lab, submission, starter, seed, jailed, tests, select)
    run = plan.carry_out(on_event or (lambda event: None))
    verdict, reason = verdict_of(run, submission)
    return Report(**base, verdict=verdict, reason=reason, tests=run.results, seconds=_since(begun))


def verdict_of(run: _Run, submission: Submission) -> tuple[Verdict, str]:
    """The verdict and one sentence. PASS needs every expected test, once, passed, and one that is no guard."""
    if run.infra:
        return Verdict.INFRA, run.infra
    for kind, verdict in (("tamper", Verdict.TAMPER), ("timeout", Verdict.TIMEOUT)):
        if hit := next((r for r in run.results if kind in (r.kind, r.outcome)), None):
            return verdict, hit.message
    if any(result.outcome == "failed" for result in run.results):
        return Verdict.FAIL, "" if submission.holes_filled else "The holes are not filled yet: this is the starter."
    passed = [result.id for result in run.results if result.outcome == "passed"]
    if sorted(passed) == sorted(run.expected) and any(not result.guard for result in run.results):
        return Verdict.PASS, ""
    missing = sorted(set(run.expected) - set(passed))
    if any(result.outcome == "not_run" for result in run.results):
        return Verdict.TIMEOUT, f"the grading's time was used up before {len(missing)} tests"
    return Verdict.INFRA, f"no result for {', '.join(missing) or 'any test'}"


def _about(submission: Submission) -> dict[str, Any]:
    warnings = [Refusal(**vars(warning)) for warning in submission.warnings]
    return {
        "commit": submission.commit,
        "not_graded": submission.not_graded,
        "warnings": warnings,
        "moved": not submission.descends,
    }


def _refused(base: dict[str, Any], refusals: list[Refusal], begun: float) -> Report:
    reason = "Nothing was run: the patch does something that a lab does not need."
    return Report(**base, verdict=Verdict.REFUSED, reason=reason, refusals=refusals, seconds=_since(begun))


def _since(begun: float) -> float:
    return round(time.monotonic() - begun, 3)


def _lint(course: Course, lab: Lab, submission: Submission, starter: Tree) -> list[Refusal]:
    inside = closure(course.root, [path for path in starter if path.startswith("mini_infra/")])
    found: list[Refusal] = []
    for path, blob in sorted(submission.blobs.items()):
        source, given = blob.decode("utf-8-sig"), starter[path].decode("utf-8-sig")
        found += [Refusal(**vars(refusal)) for refusal in lint(path, source, given, lab, inside)]
    return found


@dataclass(frozen=True)
class _Plan:
    """Everything the judge's process needs, laid out in a temporary folder for the length of one grading."""

    course: Course
    lab: Lab
    submission: Submission
    starter: Tree
    seed: int
    jailed: bool
    tests: str
    select: str | None

    def carry_out(self, on_event: OnEvent) -> _Run:
        """Run the judge; trouble of our own gets one more try, and says so."""
        run = self._once(on_event)
        if not run.infra:
            return run
        again = self._once(on_event)
        again.infra = again.infra and f"{again.infra} (tried twice)"
        return again

    def _once(self, on_event: OnEvent) -> _Run:
        run = _Run()
        with tempfile.TemporaryDirectory(prefix="labs-grading-") as folder:
            settings = self._lay_out(Path(folder))
            try:
                with _session(settings, self.lab.limits.wall_s + SESSION_SLACK_S) as events:
                    for event in events:
                        _take(run, event, on_event)
            except OSError as error:
                run.infra = f"{type(error).__name__}: {error}"
        if not run.infra and not run.ended:
            run.infra = "the judge ended before its last test"
        if not run.infra and (surprise := self._unexpected(run)):
            run.infra = surprise
        return run

    def _lay_out(self, folder: Path) -> dict[str, Any]:
        trees = {"submission": self.starter | self.submission.blobs}
        if self.tests == "hidden":
            trees["reference"] = reference_tree(self.course, self.lab)
        for side, tree in trees.items():
            write_tree(folder / side, tree)
        tests = self.lab.folder / "hidden" if self.tests == "hidden" else self.lab.folder / "tests"
        settings = run_settings(self.lab) | {"trees": {side: str(folder / side) for side in trees}}
        return settings | {"seed": self.seed, "jailed": self.jailed, "tests": str(tests), "select": self.select}

    def _unexpected(self, run: _Run) -> str:
        """The list of hidden tests is committed with the fingerprints: a test that vanished must not pass unseen."""
        committed = self.lab.folder / "fingerprints.json"
        if self.tests != "hidden" or self.select or not committed.is_file():
            return ""
        if sorted(json.loads(committed.read_text())["tests"]) == sorted(run.expected):
            return ""
        return f"{self.lab.id}'s hidden tests are not those of fingerprints.json: run labs check {self.lab.id} --write"


def write_tree(folder: Path, tree: Tree) -> None:
    """Write a tree that the jail's uid, which owns nothing, can read."""
    for path, content in tree.items():
        target = folder / path
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(content)
    for folder_path, _, files in os.walk(folder):
        os.chmod(folder_path, 0o755)
        for name in files:
            os.chmod(os.path.join(folder_path, name), 0o644)


def _take(run: _Run, event: dict[str, Any], on_event: OnEvent) -> None:
    if event["event"] == "start":
        run.expected = event["ids"]
        on_event({"event": "start", "tests": len(run.expected)})
    elif event["event"] == "test":
        result = TestResult(**event["result"])
        run.results.append(result)
        told = {"id": result.id, "outcome": result.outcome, "sentence": result.sentence}
        on_event({"event": "test", "index": len(run.results), "of": len(run.expected), **told})
    elif event["event"] == "infra":
        run.infra = run.infra or event["reason"]
    else:
        run.ended = event["code"] in (0, 1)


@contextlib.contextmanager
def _session(settings: dict[str, Any], timeout_s: float) -> Iterator[Iterator[dict[str, Any]]]:
    """The judge's process and the stream of its events; it is gone when the block ends, whatever happened."""
    read_fd, write_fd = os.pipe()
    with tempfile.TemporaryFile() as errors, os.fdopen(read_fd) as stream:
        process = _start_session(write_fd, errors)
        try:
            process.stdin.write(json.dumps(settings | {"events_fd": write_fd}).encode())
            process.stdin.close()
            yield _events(stream, process, errors, time.monotonic() + timeout_s)
        finally:
            process.kill()
            process.wait()


def _start_session(write_fd: int, errors: IO[bytes]) -> subprocess.Popen[bytes]:
    """The child alone holds the writing end, so that its death ends the stream."""
    environment = {"PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1", "OMP_NUM_THREADS": "1", "PATH": os.environ.get("PATH", "")}
    try:
        return subprocess.Popen(
            [sys.executable, "-I", "-m", "grading.judge.session"],
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            stderr=errors,
            pass_fds=[write_fd],
            env=environment,
            start_new_session=True,
        )
    finally:
        os.close(write_fd)


def _events(stream: IO[str], process: subprocess.Popen[bytes], errors: IO[bytes], deadline: float) -> Iterator[dict]:
    for line in stream:
        yield json.loads(line)
        if time.monotonic() > deadline:
            yield {"event": "infra", "reason": "the judge ran over its time"}
            return
    process.wait(timeout=10)
    if process.returncode:
        errors.seek(0)
        last = " / ".join(errors.read().decode(errors="replace").strip().splitlines()[-2:])
        yield {"event": "infra", "reason": f"the judge ended with status {process.returncode}: {last}"}
