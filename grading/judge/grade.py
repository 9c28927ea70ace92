"""One grading: trusted tree + the learner's editable blobs -> jail -> hidden tests -> Report."""

import secrets
import time
from collections.abc import Sequence
from typing import Any

from grading.course.catalog import Course, Lab
from grading.course.seals import gpu_settings, mainline_settings
from grading.course.snapshots import SnapshotError
from grading.course.submission import Refused, Submission
from grading.course.trees import Tree, reference_tree, run_settings, starter_tree, stub_message, tree_digest
from grading.judge.carry import OnEvent, Plan, Run
from grading.judge.process import JOB_LIMITS, Judge
from grading.judge.report import Refusal, Report, TestResult, Verdict
from grading.sandbox import jail
from grading.sandbox.binds import gpu_devices
from grading.sandbox.lint import lint


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
    only: Sequence[str] = (),
    standing: Sequence[TestResult] = (),
    linted: bool = True,
    judge: Judge | None = None,
    shuffled: bool = False,
    seal: str = "patch",
    starter: Tree | None = None,
    trusted: bool = False,
) -> Report:
    """Grade `submission` and report. Never raises for anything a learner can do; our own trouble is INFRA.

    `tests` is "hidden" or "public"; `select` is pytest's -k; with `only`, these test ids are run, in this order, and
    `standing` are earlier results, of the others, that still hold; `jailed=False` runs on this machine as it is and
    marks the report as not counting; `linted=False` is for the attack corpus, which proves that the wall holds alone;
    `judge` is a process that is there already: a spare, or one to share (see shared.py); `shuffled`: the tests in an
    order drawn by the seed. With `seal="mainline"` the tests are those that hold the patch against upstream; a
    snapshot that is not fetched is INFRA. With `seal="gpu"` they are the hidden tests marked `gpu`, which no other
    grading runs; a machine without a GPU is INFRA. `starter`: the tree that the submission is laid over, where it is
    there already. `trusted`: a tree of the course's own, of which bytecode may be made for all ranks.
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
        settings = _settings(course, lab, seal)
    except SnapshotError as error:
        return Report(**base, verdict=Verdict.INFRA, reason=str(error), seconds=_since(begun))
    folder = "mainline" if seal == "mainline" else "hidden" if tests == "hidden" else "tests"
    job = {"seed": seed, "tests": str(lab.folder / folder), "select": select, "shuffled": shuffled}
    job |= {"first": list(only), "only": bool(only), "limits": {name: settings["limits"][name] for name in JOB_LIMITS}}
    trees = starter | submission.blobs, reference_tree(course, lab, starter)
    theirs = () if trusted else lab.editable_paths
    plan = Plan(lab, *trees, theirs, job, jailed, judge, settings)
    run = plan.carry_out(on_event or (lambda event: None))
    run.add(standing)
    verdict, reason = verdict_of(run, submission)
    if tests == "public" and submission.holes_filled:
        base["warnings"] += _unwritten(lab, submission)
    return Report(**base, verdict=verdict, reason=reason, tests=run.results, seconds=_since(begun))


def _settings(course: Course, lab: Lab, seal: str) -> dict[str, Any]:
    if seal == "mainline":
        return mainline_settings(course, lab)
    if seal == "gpu":
        if not gpu_devices():
            raise SnapshotError("this machine has no NVIDIA device in /dev")
        return gpu_settings(lab)
    return run_settings(lab)


def verdict_of(run: Run, submission: Submission) -> tuple[Verdict, str]:
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


def _not_run(run: Run) -> str:
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
