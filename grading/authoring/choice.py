"""Which labs `labs check` is about: those whose files changed, and a machine's share of them."""

from collections.abc import Collection, Sequence
from pathlib import Path

from grading.course.catalog import COURSE_FILE, Course, CourseError, Lab
from grading.course.plumbing import GitError, Repository
from grading.course.trees import starter_tree

EVERY_LABS = {COURSE_FILE, "pyproject.toml"}  # the order and the pinned packages are part of each branch


def changed_paths(root: Path, since: str) -> set[str]:
    """Paths from `root` that differ from a commit, committed or not, and files that git does not know yet."""
    repository = Repository(root)
    try:
        commit = repository.peel(since)
    except GitError:
        raise CourseError(f"{since} is no commit of this repository") from None
    against = ["diff", "--name-only", "--no-renames", "--relative", "-z", commit]
    unknown = ["ls-files", "--others", "--exclude-standard", "-z"]
    listed = repository.text(*against) + "\0" + repository.text(*unknown)
    return {path for path in listed.split("\0") if path}


def changed_labs(course: Course, labs: Sequence[Lab], paths: Collection[str]) -> list[Lab]:
    """The labs that stand on one of `paths`: their folder, the files of their branch, or what every branch has.

    The engine is no lab's input: who changes the judge checks them all.
    """
    return [lab for lab in labs if EVERY_LABS & {*paths} or any(_stands_on(course, lab, path) for path in paths)]


def _stands_on(course: Course, lab: Lab, path: str) -> bool:
    folder = lab.folder.relative_to(course.root).as_posix()
    mini = path.startswith("mini_infra/") and path in starter_tree(course, lab)
    return mini or path.startswith(f"{folder}/")


def share(labs: Sequence[Lab], shard: str) -> list[Lab]:
    """The labs of shard "K/N": every N-th, beginning with the K-th, so that N machines have about as much to do."""
    number, mark, of = shard.partition("/")
    if not (mark and number.isdecimal() and of.isdecimal() and 1 <= int(number) <= int(of)):
        raise CourseError(f"--shard {shard}: say K/N with K from 1 to N, such as 2/4")
    return list(labs[int(number) - 1 :: int(of)])
