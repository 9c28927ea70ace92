"""The course out of the object store: for a lab branch, where `challenges/` is not checked out."""

import os
import shutil
import tempfile
from pathlib import Path

from grading.course.marked import CourseError
from grading.course.plumbing import GitError, Repository

REFS = ("refs/heads/main", "refs/remotes/origin/main")
WANTED = (".github", "challenges", "mini_infra", "upstream_snapshots", "pyproject.toml")


def stored_course(start: Path, course_file: str) -> Path | None:
    """A folder that holds the course of `main`, else of `origin/main`; None where neither has one.

    The folder is <git common dir>/labs/course/<tree SHA>: made under another name and renamed, so that it is
    there whole or not at all.
    """
    repository = Repository(start)
    try:
        cache = repository.common_dir() / "labs" / "course"
    except GitError:
        return None
    for ref in REFS:
        try:
            tree = repository.peel(ref, "tree")
            repository.git("cat-file", "-e", f"{tree}:{course_file}")
        except GitError:
            continue
        if not (cache / tree).is_dir():
            _extract(repository, tree, cache)
        return cache / tree
    return None


def _extract(repository: Repository, tree: str, cache: Path) -> None:
    try:
        cache.mkdir(parents=True, exist_ok=True)
        made = Path(tempfile.mkdtemp(prefix=".new-", dir=cache))
        try:
            _write(repository, tree, made)
            os.rename(made, cache / tree)
        except OSError:
            if not (cache / tree).is_dir():  # else another process was first, with the same content
                raise
        finally:
            shutil.rmtree(made, ignore_errors=True)
    except (OSError, GitError) as error:
        raise CourseError(f"the course of main could not be written to {cache}: {error}") from None


def _write(repository: Repository, tree: str, folder: Path) -> None:
    wanted = [
        one for one in repository.entries(tree) if one.mode in ("100644", "100755") and one.path.split("/")[0] in WANTED
    ]
    contents = repository.blobs([one.sha for one in wanted])
    for one in wanted:
        path = folder / one.path
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(contents[one.sha])
