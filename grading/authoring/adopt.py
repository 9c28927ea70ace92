"""`labs adopt`: the patch of a commit that passes becomes part of main's mini_infra, once the author gate agrees."""

import contextlib
import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import git

from grading.authoring import gate
from grading.authoring.batch import Say
from grading.authoring.choice import changed_labs
from grading.course import trees
from grading.course.catalog import Course, CourseError, Lab
from grading.course.holes import HoleError, carry, text_of
from grading.course.plumbing import GitError, Repository
from grading.course.submission import Refused, Submission, from_commit
from grading.delivery.publish import WHO
from grading.delivery.submit import refuse_dirty
from grading.judge.grade import grade
from grading.judge.report import Verdict
from grading.judge.shared import Judges
from grading.sandbox.scratch import Scratch

PERSON = re.compile(r"[^<>\r\n]+ <[^<>\s]+>")


class AdoptError(Exception):
    """Nothing was adopted; the message says what is in the way."""


@dataclass(frozen=True)
class Adopted:
    """What main has now. `commit` is the new one on the branch; none where the patch was there already."""

    lab: str
    commit: str | None
    paths: list[str]
    authors: list[str]


def adopt(repo: git.Repo, course: Course, name: str, *, at_once: int, say: Say, jailed: bool = True) -> Adopted:
    """Carry the patch of the commit or tag `name` into the course's own work tree, as a new commit on its branch.

    It has to pass the hidden tests now, to hold nothing that a patch cannot carry, and the author gate has to agree
    for every lab that stands on the files. Until then nothing moves: all is tried in a work tree of its own.
    """
    if repo.working_tree_dir is None or Path(repo.working_tree_dir).resolve() != course.root:
        raise AdoptError(f"{course.root} is not a work tree of this repository: run it in a clone of the course")
    refuse_dirty(repo)
    sha, lab = _asked(repo, course, name)
    answer, authors = _submission(repo, course, lab, sha), _authors(repo, sha)
    carried = _carried(course, lab, answer)
    changed = {path: text for path, text in carried.items() if (course.root / path).read_bytes() != text}
    if not changed:
        return Adopted(lab.id, None, [], authors)
    _refuse_failing(course, lab, answer, jailed)
    with _work_tree(repo) as (folder, there):
        for path, text in changed.items():
            (folder / path).write_bytes(text)
        with Judges(jailed, at_once) as judges:
            missed = _misses(Course.load(folder), changed, judges, say)
        if missed:
            raise AdoptError(f"the author gate does not pass with it: {'; '.join(missed)}")
        there.git.commit("--quiet", "--all", "--no-verify", "-m", _message(lab, sha, authors))
        commit = there.head.commit.hexsha
        repo.git.merge("--quiet", "--ff-only", commit)
    return Adopted(lab.id, commit, sorted(changed), authors)


def _asked(repo: git.Repo, course: Course, name: str) -> tuple[str, Lab]:
    """The commit that is meant, and the lab that its `.lab.json` names."""
    objects = Repository(Path(repo.git_dir))
    try:
        sha = objects.peel(name)
        lab_id = json.loads(objects.git("cat-file", "blob", f"{sha}:.lab.json"))["id"]
    except (GitError, ValueError, KeyError, TypeError, RecursionError):
        raise AdoptError(f"{name} is no commit of a lab's branch here: fetch it first, or name another") from None
    return sha, course.lab(str(lab_id))


def _submission(repo: git.Repo, course: Course, lab: Lab, sha: str) -> Submission:
    try:
        return from_commit(Path(repo.git_dir), sha, lab, trees.starter_tree(course, lab))
    except Refused as refused:
        raise AdoptError(f"{sha[:10]} is refused: {refused}") from None


def _refuse_failing(course: Course, lab: Lab, answer: Submission, jailed: bool) -> None:
    report = grade(course, lab, answer, jailed=jailed)
    if report.verdict is not Verdict.PASS or not report.counts:
        why = report.reason or ", ".join(test.id for test in report.failed[:3]) or "it does not count"
        raise AdoptError(f"{(answer.commit or '')[:10]} is {report.verdict} for {lab.id}, seed {report.seed}: {why}")


def _carried(course: Course, lab: Lab, answer: Submission) -> dict[str, bytes]:
    """Main's editable files with the patch on them; AdoptError lists all that is left over."""
    starter, carried, left = trees.starter_tree(course, lab), {}, []
    for path, blob in answer.blobs.items():
        main = (course.root / path).read_bytes().decode()
        try:
            text = carry(main, starter[path].decode(), blob.decode("utf-8-sig").replace("\r\n", "\n"))
            left += [f"{path}: {name} is another lab's" for name in _foreign(course, lab, path, main, text)]
            carried[path] = text.encode()
        except HoleError as error:
            left.append(f"{path}: {error}")
    if left:
        raise AdoptError(f"this has to be carried by hand: {'; '.join(left)}")
    return carried


def _foreign(course: Course, lab: Lab, path: str, old: str, new: str) -> list[str]:
    """Other labs' holes in a file that would not be as they were: a branch has them as stubs."""
    names = [name for one in course.labs if one.id != lab.id for name in one.hole_files.get(path, [])]
    return [name for name in names if text_of(old, name) != text_of(new, name)]


def _misses(course: Course, changed: dict[str, bytes], judges: Judges, say: Say) -> list[str]:
    """What the gate, mutants and all, says against the labs that stand on the changed files."""
    found = []
    for lab in changed_labs(course, course.labs, changed):
        try:
            misses = gate.check(course, lab, judges, write=False, mutants=None, say=say).misses
        except CourseError as error:
            misses = [str(error)]
        found += [f"{lab.id}: {miss}" for miss in misses]
    return found


def _authors(repo: git.Repo, sha: str) -> list[str]:
    """Who wrote the commits behind `sha`, the publisher aside, oldest first: a lab's branch is a root of its own."""
    listed = repo.git.log("--reverse", "--no-show-signature", "--format=%an <%ae>", sha).splitlines()
    return [who for who in dict.fromkeys(listed) if PERSON.fullmatch(who) and who != WHO]


def _message(lab: Lab, sha: str, authors: list[str]) -> str:
    lines = [f"Adopt {lab.id} from {sha[:10]}", "", f"The patch of {sha}, which passes {lab.id} and the author gate."]
    return "\n".join([*lines, "", *(f"Co-authored-by: {who}" for who in authors)])


@contextlib.contextmanager
def _work_tree(repo: git.Repo) -> Iterator[tuple[Path, git.Repo]]:
    """A work tree of the present commit, gone again at the end."""
    with Scratch() as scratch:
        folder = scratch / "main"
        repo.git.worktree("add", "--quiet", "--detach", str(folder), "HEAD")
        try:
            yield folder, git.Repo(folder)
        finally:
            repo.git.worktree("remove", "--force", str(folder))
