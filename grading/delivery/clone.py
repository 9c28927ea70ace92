"""The learner's clone: a work tree on a branch of one's own, and the remote that grades it."""

import contextlib
import json
import re
from dataclasses import dataclass
from pathlib import Path

import git

from grading.course.catalog import Course, Lab
from grading.delivery import hub, local, plumbing

HUB = "hub"
LAB_ID = re.compile(r"l[0-9]{2}")


class CloneError(Exception):
    """What the learner has to do first, in one line."""


@dataclass(frozen=True)
class Started:
    """Where a lab was set up: its folder, the learner's branch, and the remote that grades it."""

    folder: Path
    branch: str
    remote: str
    fresh: bool


def open_clone(start: Path) -> git.Repo:
    """The clone around `start`; CloneError when there is none."""
    try:
        return plumbing.open_repository(start)
    except (git.InvalidGitRepositoryError, git.NoSuchPathError):
        raise CloneError(f"{start} is in no Git repository: clone the course and run this inside it") from None


def work_folder(repo: git.Repo) -> Path:
    """The root of the work tree; CloneError in a bare repository."""
    if repo.working_tree_dir is None:
        raise CloneError(f"{repo.git_dir} is a bare repository: go to a lab's work tree")
    return Path(repo.working_tree_dir)


def lab_here(start: Path) -> str:
    """The id in the `.lab.json` of the work tree around `start`; CloneError where there is none."""
    for folder in [start, *start.parents]:
        with contextlib.suppress(OSError, ValueError, KeyError, TypeError, RecursionError):
            found = json.loads((folder / ".lab.json").read_text())["id"]
            if LAB_ID.fullmatch(found):
                return found
    raise CloneError("which lab? this is no lab's work tree: name one (`labs list`), or go where `labs start` put it")


def start(repo: git.Repo, course: Course, lab: Lab, folder: Path | None, jailed: bool) -> Started:
    """A work tree of `lab` on the learner's own branch, named like the lab; found again when it is there already.

    Where no remote has the lab's branch, an embedded hub in the clone's own git directory is made and used.
    """
    there = _worktree(repo, lab.id)
    if there:
        return Started(there, lab.id, _remote_of(repo, lab) or HUB, fresh=False)
    folder = folder or plumbing.common_dir(repo).parent.parent / lab.id
    if folder.exists() and any(folder.iterdir()):
        raise CloneError(f"{folder} is not empty: give another folder, `labs start {lab.id} DIR`")
    remote = _remote_of(repo, lab) or _embedded_hub(repo, course, jailed)
    known = lab.id in [head.name for head in repo.heads]
    new_branch = [] if known else ["--no-track", "-b", lab.id]
    base = lab.id if known else f"refs/remotes/{remote}/{lab.branch}"
    repo.git.worktree("add", *new_branch, "--", str(folder), base)
    for key, value in [("remote", remote), ("merge", f"refs/heads/{lab.branch}"), ("pushRemote", remote)]:
        repo.git.config(f"branch.{lab.id}.{key}", value)
    with local.updating(plumbing.common_dir(repo), lab.id) as state:
        state.started = state.started or local.now()
        state.branch = lab.id
    return Started(folder, lab.id, remote, fresh=True)


def _worktree(repo: git.Repo, branch: str) -> Path | None:
    """The work tree that has `branch` checked out."""
    folder = None
    for line in repo.git.worktree("list", "--porcelain").splitlines():
        if line.startswith("worktree "):
            folder = Path(line.removeprefix("worktree "))
        elif line == f"branch refs/heads/{branch}" and folder and folder.is_dir():
            return folder
    return None


def _remote_of(repo: git.Repo, lab: Lab) -> str | None:
    """The remote that has the lab's branch; `hub` comes first."""
    with_branch = [remote.name for remote in repo.remotes if base(repo, remote.name, lab)]
    return min(with_branch, key=lambda name: (name != HUB, name != "origin", name), default=None)


def base(repo: git.Repo, remote: str, lab: Lab) -> str | None:
    """The tip of the lab's branch, as last fetched from `remote`."""
    ref = f"refs/remotes/{remote}/{lab.branch}"
    return plumbing.refs(repo, ref).get(ref, (None,))[0]


def _embedded_hub(repo: git.Repo, course: Course, jailed: bool) -> str:
    folder = plumbing.common_dir(repo) / "labs" / "hub.git"
    folder.parent.mkdir(exist_ok=True)
    hub.init(folder, course.root, jailed)
    if HUB not in [remote.name for remote in repo.remotes]:
        repo.create_remote(HUB, str(folder))
    repo.git.fetch("--quiet", HUB)
    return HUB


def grader(repo: git.Repo, lab: Lab) -> str:
    """The remote that an answer goes to."""
    remote = _remote_of(repo, lab)
    if remote is None:
        raise CloneError(f"no remote here has {lab.branch}: `labs start {lab.id}` sets one up")
    return remote


def patch(repo: git.Repo, lab: Lab) -> str:
    """The learner's diff of the editable files against the lab branch that the work stands on."""
    tip = base(repo, grader(repo, lab), lab)
    with contextlib.suppress(git.GitCommandError):
        tip = repo.git.merge_base(tip, "HEAD")
    return repo.git.diff("--no-ext-diff", "--no-textconv", "--no-color", tip, "HEAD", "--", *lab.editable_paths)
