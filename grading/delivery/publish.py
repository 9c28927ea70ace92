"""Publishing: lab branches as roots of their own, append-only, the same SHAs on any machine."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import git

from grading.course import trees
from grading.course.catalog import Course, Lab
from grading.course.upstream import missing, refusal, upstream_files
from grading.delivery import plumbing
from grading.delivery.leaks import Guard
from grading.delivery.plumbing import ZERO, RefsMoved, RefUpdate, Tree
from grading.delivery.remote import PublishError, open_target, target
from grading.delivery.stream import Stream

WHO = "Mainline <labs@mainline.invalid>"
EPOCH = 1_735_689_600  # 2025-01-01 UTC; version n of a branch is dated n days later
DAY = 86_400
SCRATCH = "refs/publish/"
Upstream = Literal["all", "fetched", "none"]  # which of upstream's files the branches show


@dataclass(frozen=True)
class Published:
    """One branch after publishing. `old` is None for a new branch; `shows` are holes with their reference body.

    `upstream`: the releases of which the branch shows files, such as megatron-core-0.19.2.
    """

    lab: str
    branch: str
    old: str | None
    new: str
    changed: bool
    shows: list[str]
    upstream: list[str]


@dataclass(frozen=True)
class _Plan:
    lab: Lab
    snapshot: Tree
    starter: Tree
    old: str | None
    unchanged: bool
    upstream: list[str]

    @property
    def ref(self) -> str:
        return f"refs/heads/{self.lab.branch}"

    @property
    def scratch(self) -> str:
        return SCRATCH + self.lab.id


def publish(
    course: Course, labs: Sequence[Lab], repo: Path, engine: str = "", upstream: Upstream = "fetched"
) -> list[Published]:
    """Bring the branches of `labs` in the repository at `repo` up to date, all or none.

    A new branch gets two commits (snapshot, then starter), an update two more on the old tip, an unchanged one
    none. Raises PublishError, before anything is written, when a branch would show what it must not, and
    SnapshotError when it is to show "all" of upstream's files and the cache has not got them.
    """
    if upstream == "all" and (absent := missing(course, labs)):
        raise refusal(absent)
    opened = open_target(repo)
    with plumbing.exclusive(opened):
        plans = _plan(course, labs, opened, engine, upstream)
        todo = [plan for plan in plans if not plan.unchanged]
        _refuse_leaks(course, todo)
        _refuse_checked_out(opened, todo)
        tips = _write(opened, todo) if todo else {}
    return [_published(course, plan, tips) for plan in plans]


def publish_to(
    course: Course, labs: Sequence[Lab], to: str, start: Path, engine: str = "", upstream: Upstream = "all"
) -> list[Published]:
    """`publish` into a repository on this disk, or to the remote `to` (a name known at `start`, or a URL)."""
    with target(to, start, "refs/heads/lab/*") as (repo, push):
        published = publish(course, labs, plumbing.common_dir(repo), engine, upstream)
        if moved := [f"refs/heads/{one.branch}" for one in published if one.changed]:
            push(moved)
    return published


def _plan(course: Course, labs: Sequence[Lab], repo: git.Repo, engine: str, upstream: Upstream) -> list[_Plan]:
    tips = plumbing.refs(repo, *(f"refs/heads/{lab.branch}" for lab in labs)) if labs else {}
    published = _published_trees(repo, [commit for commit, _ in tips.values()])
    plans = []
    for lab in labs:
        old, _ = tips.get(f"refs/heads/{lab.branch}", (None, None))
        shown = {} if upstream == "none" else upstream_files(course, lab)
        snapshot = trees.snapshot_tree(course, lab) | shown
        starter = trees.starter_tree(course, lab, engine) | shown
        same = old is not None and published[old] == (plumbing.tree_id(snapshot), plumbing.tree_id(starter))
        releases = sorted({path.split("/")[1] for path in shown})
        plans.append(_Plan(lab, snapshot, starter, old, same, releases))
    return plans


def _published_trees(repo: git.Repo, commits: list[str]) -> dict[str, tuple[str, str]]:
    """Tip -> (tree of its snapshot, tree of its starter)."""
    if not commits:
        return {}
    try:
        names = [name for c in commits for name in (f"{c}~1^{{tree}}", f"{c}^{{tree}}", f"{c}:.lab.json")]
        found = repo.git.rev_parse(*names).splitlines()
    except git.GitCommandError:
        raise PublishError("a branch lab/… here was not made by `labs publish`: rename it first") from None
    return {commit: (found[3 * i], found[3 * i + 1]) for i, commit in enumerate(commits)}


def _refuse_leaks(course: Course, plans: list[_Plan]) -> None:
    guard = Guard(course) if plans else None
    for plan in plans:
        if found := guard.leaks(plan.lab, plan.snapshot, plan.starter):
            raise PublishError(f"{plan.lab.id}: " + "; ".join(found))


def _refuse_checked_out(repo: git.Repo, plans: list[_Plan]) -> None:
    busy = {line.removeprefix("branch ") for line in repo.git.worktree("list", "--porcelain").splitlines()}
    for plan in plans:
        if plan.ref in busy:
            raise PublishError(f"{plan.lab.branch} is checked out in a work tree: switch that to another branch first")


def _write(repo: git.Repo, plans: list[_Plan]) -> dict[str, str]:
    """Objects first, behind scratch refs; then every branch moves in one transaction. Returns lab id -> new tip."""
    drop_scratch(repo)
    stream = Stream(WHO)
    for plan in plans:
        _commits(stream, plan, version_at(repo, plan.old) + 1)
    plumbing.fast_import(repo, stream.finish())
    scratch = plumbing.refs(repo, SCRATCH)
    tips = {plan.lab.id: scratch[plan.scratch][0] for plan in plans}
    moves = [RefUpdate(plan.ref, tips[plan.lab.id], plan.old or ZERO) for plan in plans]
    try:
        plumbing.transaction(repo, [*moves, *(RefUpdate(p.scratch, ZERO, tips[p.lab.id]) for p in plans)])
    except RefsMoved as error:
        drop_scratch(repo)
        raise PublishError(f"a branch moved meanwhile, nothing was published: run it again ({error})") from None
    return tips


def drop_scratch(repo: git.Repo) -> None:
    """Remove the scratch refs that a killed publisher left."""
    left = plumbing.refs(repo, SCRATCH)
    if left:
        plumbing.transaction(repo, [RefUpdate(ref, ZERO, commit) for ref, (commit, _) in left.items()])


def version_at(repo: git.Repo, tip: str | None) -> int:
    """How many versions of a lab's branch its tip stands on, itself included."""
    return 0 if tip is None else int(repo.git.rev_list("--count", "--first-parent", tip)) // 2


def _commits(stream: Stream, plan: _Plan, version: int) -> None:
    date = EPOCH + version * DAY
    lab = plan.lab
    snapshot = f"{lab.id} v{version}: the snapshot that the lab stands on\n"
    starter = f"{lab.id} v{version}: {lab.title}\n\nThe starter: holes, task, public tests.\n"
    stream.commit(plan.scratch, snapshot, date, plan.snapshot, plan.old)
    stream.commit(plan.scratch, starter, date, plan.starter)


def _published(course: Course, plan: _Plan, tips: dict[str, str]) -> Published:
    new = tips.get(plan.lab.id) or plan.old
    shows = trees.shows(course, plan.lab)
    return Published(plan.lab.id, plan.lab.branch, plan.old, new, not plan.unchanged, shows, plan.upstream)
