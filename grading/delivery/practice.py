"""What a learner does between two pushes: public tests, hints, and the reference when it is earned."""

from collections.abc import Sequence

import git

from grading.course import submission, trees
from grading.course.catalog import Course, Lab
from grading.course.patchfile import unified
from grading.course.submission import Refused
from grading.delivery import local, plumbing
from grading.delivery.clone import CloneError, work_folder
from grading.feedback import hints
from grading.feedback.advice import Advice, advise
from grading.feedback.hints import Hint
from grading.judge.grade import grade
from grading.judge.report import Report, Verdict
from grading.sandbox import jail


def run_public(repo: git.Repo, course: Course, lab: Lab, select: str | None, seed: int | None) -> tuple[Report, Advice]:
    """The public tests on the work tree as it lies, in a jail where there is one. No attempt is counted."""
    starter = trees.starter_tree(course, lab)
    try:
        answer = submission.from_worktree(work_folder(repo), lab, starter)
    except Refused as refused:
        answer = refused
    how = {"seed": seed, "jailed": jail.status().ok, "tests": "public", "select": select, "starter": starter}
    report = grade(course, lab, answer, **how)
    if select and report.verdict is Verdict.INFRA and not report.tests:
        raise CloneError(f"no public test of {lab.id} matches {select!r}: `labs test` runs them all")
    return report, advise(course, lab, report, None, note_failing(repo, lab, report))


def note_failing(repo: git.Repo, lab: Lab, report: Report) -> dict[str, int]:
    """Keep the topic of the first failure for `labs hint`. Returns the hints asked for by now: topic -> level."""
    with local.updating(plumbing.common_dir(repo), lab.id) as state:
        state.failing = next((test.topic for test in report.failed if test.topic), "")
        return dict(state.hints)


def next_hint(repo: git.Repo, lab: Lab, topic: str | None) -> Hint:
    """One level more on `topic` (default: that of the last failing run); counted in the clone's state."""
    known = hints.load(lab)
    with local.updating(plumbing.common_dir(repo), lab.id) as state:
        topic = topic or state.failing or _last_topic(state)
        if topic not in known:
            what = f"no topic {topic!r}:" if topic else "which topic?"
            raise CloneError(f"{what} {lab.id} has {', '.join(known) or 'no hints'}: `labs hint TOPIC`")
        state.hints[topic] = min(hints.LEVELS, state.hints.get(topic, 0) + 1)
        return hints.give(known, topic, state.hints[topic])


def _last_topic(state: local.LabState) -> str:
    return next((mark.topics[0] for mark in reversed(state.attempts) if mark.topics), "")


def solution(repo: git.Repo, course: Course, lab: Lab, anyway: bool) -> str:
    """The reference as a unified diff against the starter; that it was shown, and how early, is recorded."""
    if not (course.root / "mini_infra").is_dir():
        raise CloneError(f"this course is sealed: the solution of {lab.id} is the tag ref/{lab.id}/v1, once released")
    with local.updating(plumbing.common_dir(repo), lab.id) as state:
        earned = state.passed or len(state.attempts) >= course.solution_after
        if not earned and not anyway:
            left = course.solution_after - len(state.attempts)
            raise CloneError(f"after a PASS or {left} more attempts; `labs solution {lab.id} --anyway` is recorded")
        state.solution = state.solution or f"{'earned' if earned else 'anyway'} {local.now()}"
    return reference_diff(course, lab)


def reference_diff(course: Course, lab: Lab) -> str:
    """The reference as a unified diff against the starter."""
    starter = trees.starter_tree(course, lab)
    return _diff(starter, trees.reference_tree(course, lab, starter), lab.editable_paths)


def _diff(old: trees.Tree, new: trees.Tree, paths: Sequence[str]) -> str:
    """The changes of some files, as `git apply` reads them."""
    return "".join(unified(old[path].decode(), new[path].decode(), path) for path in paths)
