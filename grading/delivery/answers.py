"""What `labs grade` can grade: a commit, a folder, or what the course itself has."""

import contextlib
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime
from pathlib import Path

from grading.course import trees
from grading.course.catalog import Course, Lab
from grading.course.plumbing import GitError, Repository
from grading.course.seals import has_gpu, has_mainline
from grading.course.submission import Refused, Submission, from_commit, from_tree, from_worktree
from grading.delivery import local
from grading.delivery.clone import CloneError
from grading.judge.grade import grade
from grading.judge.report import Report, Verdict
from grading.judge.shared import Judges

WANTED = "say what to grade: --commit SHA [--repo R], --worktree DIR, or --impl reference|starter|mistake:NAME"


def answer(
    course: Course, lab: Lab, *, repo: Path | None, commit: str | None, worktree: Path | None, impl: str | None
) -> Submission | Refused:
    """The one submission that the options name; CloneError when they name none or several."""
    if sum(option is not None for option in (commit, worktree, impl)) != 1:
        raise CloneError(WANTED)
    starter = trees.starter_tree(course, lab)
    try:
        if commit is not None:
            return from_commit(repo or Path.cwd(), commit, lab, starter)
        if worktree is not None:
            return from_worktree(worktree, lab, starter)
    except Refused as refused:
        return refused
    return from_tree(lab, implementation(course, lab, impl), starter)


def implementation(course: Course, lab: Lab, name: str) -> trees.Tree:
    """The tree of "reference", "starter" or "mistake:NAME"."""
    if name == "starter":
        return trees.patched_tree(course, lab, None)
    if name == "reference":
        return trees.reference_tree(course, lab)
    kind, _, mistake = name.partition(":")
    path = lab.folder / "mistakes" / f"{mistake}.py"
    if kind != "mistake" or "/" in mistake or not path.is_file():
        known = ", ".join(sorted(one.stem for one in path.parent.glob("*.py"))) or "none yet"
        raise CloneError(f"no implementation {name!r} of {lab.id}: reference, starter, or mistake: with {known}")
    return trees.patched_tree(course, lab, path.read_text(encoding="utf-8"))


def keep_seal(start: Path, lab: Lab, report: Report) -> set[str]:
    """The lab's seals on record in the clone around `start`, with the Mainline seal that this report earns."""
    if report.seal == "mainline" and report.verdict is Verdict.PASS and report.counts:
        with contextlib.suppress(GitError), local.updating(Repository(start).common_dir(), lab.id) as state:
            state.seals.setdefault(report.seal, local.now())
    state = local.load_here(start)
    return set(state[lab.id].seals) if lab.id in state else set()


def when(repo: Path, report: Report) -> str:
    """The committer's date of the graded commit, else now: ISO 8601, UTC."""
    if report.commit is None:
        return local.now()
    seconds = Repository(repo).text("show", "--no-patch", "--format=%ct", "--end-of-options", report.commit)
    return datetime.fromtimestamp(int(seconds), UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def labs_with(course: Course, seal: str) -> list[Lab]:
    """The labs that have this seal (or GPU tests), in the course's order."""
    has = {"patch": lambda lab: True, "mainline": has_mainline, "gpu": has_gpu}[seal]
    return [lab for lab in course.labs if has(lab)]


def grade_all(
    course: Course,
    labs: Sequence[Lab],
    impl: str | None,
    seed: int | None,
    jailed: bool,
    at_once: int,
    seal: str = "patch",
) -> Iterator[Report]:
    """One report a lab, `at_once` at a time, in order; `impl` None: the course's own work tree.

    What the course itself has is graded on shared judges.
    """
    worktree = None if impl else course.root

    def one(lab: Lab) -> Report:
        given = answer(course, lab, repo=None, commit=None, worktree=worktree, impl=impl)
        how = {"seed": seed, "jailed": jailed, "seal": seal}
        if worktree or seal != "patch":
            return grade(course, lab, given, **how)
        with judges.lend(lab) as judge:
            return grade(course, lab, given, judge=judge, trusted=True, **how)

    with Judges(jailed, at_once) as judges, ThreadPoolExecutor(max_workers=at_once) as pool:
        yield from pool.map(one, labs)
