"""A learner's patch as data: the editable files of a commit or folder, vetted; everything else is only listed."""

import os
import stat
from dataclasses import dataclass
from pathlib import Path

from grading.course.holes import HoleError, text_of
from grading.course.models import Lab
from grading.course.paths import clashes, likely_new_path, shown
from grading.course.plumbing import Entry, GitError, Repository, TooManyEntries, blob_sha
from grading.course.trees import Tree
from grading.course.upstream import is_upstream
from grading.course.vetting import LIMIT, Refusal, too_big, vet, warn

FILES = ("100644", "100755")
NOT_LISTED = {".git", ".venv", "venv", "__pycache__", ".pytest_cache", ".ruff_cache", ".hypothesis"}
MOST_LISTED = 100
MOST_ENTRIES = 20_000  # files and folders of a commit


class Refused(Exception):
    """The submission is not run. `refusals` say what is wrong and what to do."""

    def __init__(self, refusals: list[Refusal]):
        self.refusals = refusals
        places = [f"{one.path}:{one.line}" if one.line else one.path for one in refusals]
        super().__init__("\n".join(f"{at}: {one.reason}" for at, one in zip(places, refusals, strict=True)))


@dataclass(frozen=True)
class Submission:
    """What is graded: `blobs` by path. `not_graded`: other edits, as printable names."""

    lab: str
    commit: str | None
    blobs: dict[str, bytes]
    not_graded: list[str]
    warnings: list[Refusal]
    holes_filled: bool
    descends: bool = True


def from_commit(repo: Path, commit: str, lab: Lab, starter: Tree, branch_tip: str | None = None) -> Submission:
    """The submission of a commit, by plumbing alone: nothing is checked out, filtered or followed.

    `branch_tip` is the published lab branch: with it, `descends` tells whether the commit is built on it.
    Refused where an editable file is missing, or is nothing that can be graded.
    """
    repository = Repository(repo)
    try:
        sha = repository.peel(commit)
    except GitError:
        raise _refused(f"{shown(commit)} is no commit of this repository; push a commit") from None
    try:
        entries = repository.entries(sha, most=MOST_ENTRIES)
        blobs = _blobs(repository, sha, entries, lab, starter)
    except TooManyEntries:
        raise _refused(f"the commit has more than {MOST_ENTRIES:,} files; commit what the lab asks for") from None
    except GitError:
        raise _refused(f"a part of {shown(commit)} is not in this repository; push the whole commit") from None
    tip = _tip(repository, branch_tip)
    base = {one.path: one.sha for one in _base(repository, tip, sha)}
    descends = tip is None or repository.is_ancestor(tip, sha)
    given = {path: {blob_sha(content, len(sha)), base.get(path)} for path, content in starter.items()}
    found = {one.path: one.sha for one in entries}
    other = [path for path in found if found[path] not in given.get(path, {base.get(path)})]
    other = [path for path in other if path in base or not is_upstream(path)]
    gone = [path for path in given if path not in found]
    return _submission(lab, sha, blobs, starter, other, gone, descends)


def _blobs(repository: Repository, sha: str, entries: list[Entry], lab: Lab, starter: Tree) -> dict[str, bytes]:
    """The contents at the editable paths of a commit. Refused where one is no file that can be graded."""
    by_path = {one.path: one for one in entries}
    paths = lab.editable_paths
    twice = [path for path in paths if sum(one.path == path for one in entries) > 1]
    refusals = [refusal for path in paths if (refusal := _refuse_entry(repository, by_path, path, starter))]
    refusals += clashes(paths, [one.path for one in entries])
    refusals += [Refusal(path, None, "this name stands in the commit twice; commit the file anew") for path in twice]
    refusals = refusals or _unwalkable(repository, sha, by_path, paths)
    if refusals:
        raise Refused(refusals)
    contents = repository.blobs([by_path[path].sha for path in paths])
    return {path: contents[by_path[path].sha] for path in paths}


def _unwalkable(repository: Repository, sha: str, by_path: dict[str, Entry], paths: list[str]) -> list[Refusal]:
    """A tree written by hand can list a path that no checkout would find, or another file than it would find."""
    found = repository.sizes([f"{sha}:{path}" for path in paths])
    reason = "git finds no such file in the commit, though its tree lists one; commit the file anew"
    return [Refusal(path, None, reason) for path in paths if (found[f"{sha}:{path}"] or ("",))[0] != by_path[path].sha]


def _refused(reason: str) -> Refused:
    return Refused([Refusal("", None, reason)])


def from_worktree(folder: Path, lab: Lab, starter: Tree) -> Submission:
    """The submission of a folder as it lies on the disk; links are not followed."""
    refusals = [refusal for path in lab.editable_paths if (refusal := _refuse_path(folder, path))]
    files = _files_below(folder)
    refusals += clashes(lab.editable_paths, files)
    if refusals:
        raise Refused(refusals)
    blobs = {path: (folder / path).read_bytes() for path in lab.editable_paths}
    theirs = [path for path in files if not is_upstream(path)]
    other = [path for path in theirs if path not in starter or _differs(folder / path, starter[path])]
    gone = [path for path in starter if path not in files]
    return _submission(lab, None, blobs, starter, other, gone)


def from_tree(lab: Lab, tree: Tree, starter: Tree) -> Submission:
    """The submission of a tree of ours: reference, starter, a mistake. Trusted, so not vetted."""
    blobs = {path: tree[path] for path in lab.editable_paths}
    return Submission(lab.id, None, blobs, [], [], holes_filled(lab, blobs, starter))


def holes_filled(lab: Lab, blobs: Tree, starter: Tree) -> bool:
    """Whether any hole is other than in the starter (line ends aside)."""
    return any(_touched(blobs[path], starter[path], names) for path, names in lab.hole_files.items())


def _touched(new: bytes, old: bytes, names: list[str]) -> bool:
    try:
        ours, theirs = (blob.decode("utf-8-sig") for blob in (new, old))
        parts = [[text_of(text, name) for name in names] for text in (ours, theirs)]
    except (HoleError, UnicodeDecodeError):
        return True  # broken: not the starter
    return parts[0] != parts[1]


def _submission(lab, commit, blobs, starter, other, gone, descends=True) -> Submission:
    if refusals := vet(blobs):
        raise Refused(refusals)
    warnings = [one for path, blob in blobs.items() for one in warn(path, blob.decode())]
    editable = set(lab.editable_paths)
    listed = sorted(shown(path) for path in other if path not in editable)
    listed += sorted(f"{shown(path)} (deleted)" for path in gone if path not in editable)
    if len(listed) > MOST_LISTED:
        listed = [*listed[:MOST_LISTED], f"and {len(listed) - MOST_LISTED} more"]
    return Submission(lab.id, commit, blobs, listed, warnings, holes_filled(lab, blobs, starter), descends)


def _tip(repository: Repository, branch_tip: str | None) -> str | None:
    try:
        return repository.peel(branch_tip) if branch_tip else None
    except GitError:
        return None  # not published yet: nothing to descend from


def _base(repository: Repository, tip: str | None, sha: str) -> list[Entry]:
    """The files of the published version that the learner started from; what is as it was there is no edit."""
    try:
        return repository.entries(repository.text("merge-base", tip, sha)) if tip else []
    except GitError:
        return []  # unrelated or shallow history


def _refuse_entry(repository: Repository, by_path: dict[str, Entry], path: str, starter: Tree) -> Refusal | None:
    """Why the entry at an editable path is no file to grade, or None."""
    entry = by_path.get(path)
    if entry and entry.mode in FILES:
        missing = Refusal(path, None, "its content is not in this repository; push the whole commit")
        return missing if entry.size is None else too_big(path, entry.size)
    if entry:
        return Refusal(path, None, _not_a_file(entry.mode, "this"))
    parts = path.split("/")
    for depth in range(1, len(parts)):
        parent = "/".join(parts[:depth])
        if parent in by_path:
            return Refusal(path, None, _not_a_file(by_path[parent].mode, f"the folder {parent}"))
    if any(other.startswith(path + "/") for other in by_path):
        return Refusal(path, None, "this is a folder; put your code in a file of this name")
    added = [one for one in by_path.values() if one.path not in starter and one.mode in FILES and one.size]
    added = [one for one in added if one.size <= LIMIT and not is_upstream(one.path)]
    return _missing(path, likely_new_path(path, starter[path], added, repository))


def _not_a_file(mode: str, what: str) -> str:
    kind = {"120000": "a symbolic link", "160000": "a submodule"}.get(mode, "not what it was")
    return f"{what} is {kind}; links are never followed: commit the file itself, with your code in it"


def _missing(path: str, new: str | None) -> Refusal:
    if new:
        reason = (
            f"the file is missing; it looks as if it became {shown(new)}: move it back with `git mv` and push again"
        )
    else:
        reason = f"the file is missing; take it back: `git checkout @{{upstream}} -- {shown(path)}`"
    return Refusal(path, None, reason)


def _refuse_path(folder: Path, path: str) -> Refusal | None:
    """Why what lies at an editable path of a folder is no file to grade, or None."""
    at = Path(folder)
    for part in path.split("/"):
        at = at / part
        try:
            mode = os.lstat(at).st_mode
        except (FileNotFoundError, NotADirectoryError):
            return _missing(path, None)
        if stat.S_ISLNK(mode):
            return Refusal(
                path, None, _not_a_file("120000", "this" if at == Path(folder) / path else f"the folder {part}")
            )
    if not stat.S_ISREG(mode):
        return Refusal(path, None, "this is no ordinary file; put your code in a file of this name")
    return too_big(path, at.stat().st_size)


def _files_below(folder: Path) -> list[str]:
    found = []
    for at, folders, files in os.walk(folder):
        folders[:] = [name for name in folders if name not in NOT_LISTED]
        names = files if at != str(folder) else [name for name in files if name not in NOT_LISTED]
        found += [os.path.relpath(os.path.join(at, name), folder).replace(os.sep, "/") for name in names]
    return found


def _differs(path: Path, content: bytes) -> bool:
    try:
        return path.stat().st_size != len(content) or path.read_bytes() != content
    except OSError:
        return True
