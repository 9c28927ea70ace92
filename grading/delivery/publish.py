"""Publishing: lab branches as roots of their own, append-only, the same SHAs on any machine.

Of a sealed course the catalogue as well, which is the main branch of the public repository.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import git

from grading.course import trees
from grading.course.catalog import Course, Lab
from grading.course.upstream import missing, refusal, upstream_files
from grading.delivery import plumbing
from grading.delivery.catalogue import LOCK, catalogue_tree
from grading.delivery.hidden import Hidden
from grading.delivery.leaks import Guard
from grading.delivery.plumbing import ZERO, RefsMoved, RefUpdate, Tree
from grading.delivery.remote import PublishError, open_target, target
from grading.delivery.stream import Stream

WHO = "Mainline <labs@mainline.invalid>"
EPOCH = 1_735_689_600  # 2025-01-01 UTC; version n of a branch is dated n days later
DAY = 86_400
SCRATCH = "refs/publish/"
MAIN = "main"
Upstream = Literal["all", "fetched", "none"]  # which of upstream's files the branches show


@dataclass(frozen=True)
class Published:
    """One branch after publishing. `old` is None for a new branch; `shows` are holes with their reference body.

    `lab` is an id, or "" for the catalogue. `upstream`: the releases of which the branch shows files, such as
    megatron-core-0.19.2.
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
    """A branch as it is to be: each version is these commits, oldest first. `lab` is None for the catalogue."""

    lab: Lab | None
    commits: list[tuple[str, Tree]]  # message, with {v} for the version
    old: str | None
    unchanged: bool
    upstream: list[str]

    @property
    def branch(self) -> str:
        return self.lab.branch if self.lab else MAIN

    @property
    def ref(self) -> str:
        return f"refs/heads/{self.branch}"

    @property
    def scratch(self) -> str:
        return SCRATCH + self.branch

    @property
    def trees(self) -> list[Tree]:
        return [tree for _, tree in self.commits]


def publish(
    course: Course,
    labs: Sequence[Lab],
    repo: Path,
    engine: str = "",
    upstream: Upstream = "fetched",
    catalogue: bool = False,
) -> list[Published]:
    """Bring the branches of `labs` in the repository at `repo` up to date, all or none; with `catalogue`, main too.

    A new branch gets two commits (snapshot, then starter), an update two more on the old tip, an unchanged one
    none. Raises PublishError, before anything is written, when a branch would show what it must not, and
    SnapshotError when it is to show "all" of upstream's files and the cache has not got them.
    """
    if upstream == "all" and (absent := missing(course, labs)):
        raise refusal(absent)
    opened = open_target(repo)
    with plumbing.exclusive(opened):
        plans = _plan(course, labs, opened, engine, upstream)
        plans += [_plan_catalogue(course, opened)] if catalogue else []
        todo = [plan for plan in plans if not plan.unchanged]
        _refuse_leaks(course, opened, todo)
        _refuse_checked_out(opened, todo)
        tips = _write(opened, todo) if todo else {}
    return [_published(course, plan, tips) for plan in plans]


def publish_to(
    course: Course, labs: Sequence[Lab], to: str, start: Path, engine: str = "", upstream: Upstream = "all"
) -> list[Published]:
    """`publish` into a repository on this disk, or to the remote `to` (a name known at `start`, or a URL).

    Of a sealed course that is the public repository: its main becomes the catalogue.
    """
    sealed = course.mode == "sealed"
    more = [f"refs/heads/{MAIN}*", "refs/tags/ref/*"] if sealed else []  # a pattern, since there may be none yet
    with target(to, start, "refs/heads/lab/*", *more) as (repo, push):
        published = publish(course, labs, plumbing.common_dir(repo), engine, upstream, catalogue=sealed)
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
        says = [f"{lab.id} v{{v}}: the snapshot that the lab stands on\n"]
        says += [f"{lab.id} v{{v}}: {lab.title}\n\nThe starter: holes, task, public tests.\n"]
        plans.append(_Plan(lab, list(zip(says, [snapshot, starter], strict=True)), old, same, releases))
    return plans


def _plan_catalogue(course: Course, repo: git.Repo) -> _Plan:
    """PublishError where the main branch there is somebody's own: above all that of the course itself."""
    old, there = plumbing.refs(repo, f"refs/heads/{MAIN}").get(f"refs/heads/{MAIN}", (None, None))
    if old and plumbing.read_blob(repo, f"{old}:{LOCK}") is None:
        raise PublishError(
            f"{MAIN} there was not made by `labs publish`: this course is sealed, so --to has to name "
            "its public repository, which is empty at first"
        )
    tree = catalogue_tree(course)
    return _Plan(None, [("The catalogue, v{v}\n", tree)], old, plumbing.tree_id(tree) == there, [])


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


def _refuse_leaks(course: Course, repo: git.Repo, plans: list[_Plan]) -> None:
    """By structure for every branch; of a sealed course by text, too, since nothing hidden may be found anywhere."""
    guard = Guard(course) if plans else None
    for plan in plans:
        if plan.lab and (found := guard.leaks(plan.lab, *plan.trees)):
            raise PublishError(f"{plan.lab.id}: " + "; ".join(found))
    hidden = Hidden(course, released(repo)) if plans and course.mode == "sealed" else None
    for plan in plans if hidden else []:
        if found := hidden.in_trees(*plan.trees):
            raise PublishError(f"{plan.branch}: " + "; ".join(found))


def _refuse_checked_out(repo: git.Repo, plans: list[_Plan]) -> None:
    busy = {line.removeprefix("branch ") for line in repo.git.worktree("list", "--porcelain").splitlines()}
    for plan in plans:
        if plan.ref in busy:
            raise PublishError(f"{plan.lab.branch} is checked out in a work tree: switch that to another branch first")


def _write(repo: git.Repo, plans: list[_Plan]) -> dict[str, str]:
    """Objects first, behind scratch refs; then every branch moves in one transaction. Returns branch -> new tip."""
    drop_scratch(repo)
    stream = Stream(WHO)
    for plan in plans:
        _commits(stream, plan, version_at(repo, plan.old, len(plan.commits)) + 1)
    plumbing.fast_import(repo, stream.finish())
    scratch = plumbing.refs(repo, SCRATCH)
    tips = {plan.branch: scratch[plan.scratch][0] for plan in plans}
    moves = [RefUpdate(plan.ref, tips[plan.branch], plan.old or ZERO) for plan in plans]
    try:
        plumbing.transaction(repo, [*moves, *(RefUpdate(p.scratch, ZERO, tips[p.branch]) for p in plans)])
    except RefsMoved as error:
        drop_scratch(repo)
        raise PublishError(f"a branch moved meanwhile, nothing was published: run it again ({error})") from None
    return tips


def released(repo: git.Repo) -> set[str]:
    """The ids of the labs whose reference is a tag here: everybody may read it."""
    return {ref.split("/")[3] for ref in plumbing.refs(repo, "refs/tags/ref/")}


def drop_scratch(repo: git.Repo) -> None:
    """Remove the scratch refs that a killed publisher left."""
    left = plumbing.refs(repo, SCRATCH)
    if left:
        plumbing.transaction(repo, [RefUpdate(ref, ZERO, commit) for ref, (commit, _) in left.items()])


def version_at(repo: git.Repo, tip: str | None, commits: int = 2) -> int:
    """How many versions of a branch, `commits` each, its tip stands on, itself included."""
    return 0 if tip is None else int(repo.git.rev_list("--count", "--first-parent", tip)) // commits


def _commits(stream: Stream, plan: _Plan, version: int) -> None:
    parent = plan.old
    for message, tree in plan.commits:
        stream.commit(plan.scratch, message.replace("{v}", str(version)), EPOCH + version * DAY, tree, parent)
        parent = None


def _published(course: Course, plan: _Plan, tips: dict[str, str]) -> Published:
    new, lab = tips.get(plan.branch) or plan.old, plan.lab.id if plan.lab else ""
    shows = trees.shows(course, plan.lab) if plan.lab else []
    return Published(lab, plan.branch, plan.old, new, not plan.unchanged, shows, plan.upstream)
