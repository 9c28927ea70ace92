"""`labs github grade`: the job that runs a learner's code, and may do nothing else. It leaves one file."""

import re
import tempfile
from dataclasses import dataclass
from pathlib import Path

import git

from grading.course import trees
from grading.course.catalog import Course, Lab
from grading.course.submission import Refused, Submission, from_commit
from grading.delivery import plumbing, records
from grading.delivery.github import parcel, workflow
from grading.delivery.github.event import EventError, Pull
from grading.delivery.github.parcel import Parcel
from grading.feedback import diagnose
from grading.feedback.escape import clip
from grading.judge.grade import grade
from grading.judge.report import Report

DEPTH = 50  # commits of the learner's; `descends` is told wrong behind more
REMOTE = re.compile(r"[A-Za-z0-9][\w.-]*")


@dataclass(frozen=True)
class Graded:
    """What the job found: a reason when it had nothing to grade, else the report."""

    nothing: str = ""
    report: Report | None = None


def run(
    course: Course,
    repo: Path,
    repository: str,
    pull: Pull,
    out: Path,
    run_id: str,
    jailed: bool = True,
    seal: str = "patch",
) -> Graded:
    """Grade the head of `pull`, fetched as objects into a repository of its own, and leave the parcel in `out`."""
    lab = next((lab for lab in course.labs if lab.id == pull.lab_id), None)
    if lab is None:
        return Graded(f"{clip(pull.base.ref, 80)} is no lab of this course: nothing is graded")
    if pull.state != "open":
        return Graded("the pull request is closed: nothing is graded")
    with tempfile.TemporaryDirectory(prefix="labs-pr-") as folder:
        objects = _fetch(Path(folder), repo, pull, lab)
        if objects.commit("refs/labs/pr").hexsha != pull.head.sha:
            return Graded("the pull request has moved on: the newer run grades it")
        starter = trees.starter_tree(course, lab)
        with workflow.quoting():
            report = grade(course, lab, _answer(objects, lab, starter), jailed=jailed, on_event=_tell, seal=seal)
    report = records.public(report.model_copy(update={"commit": pull.head.sha}), starter)
    parcel.write(_packed(lab, report, repository, pull, run_id), out)
    return Graded(report=report)


def _packed(lab: Lab, report: Report, repository: str, pull: Pull, run_id: str) -> Parcel:
    diagnosis = diagnose.of(lab, report)
    return Parcel(
        repository=repository, pull=pull.number, head=pull.head.sha, run=run_id, report=report, diagnosis=diagnosis
    )


def _fetch(folder: Path, repo: Path, pull: Pull, lab: Lab) -> git.Repo:
    """The learner's commits and the lab's branch in an empty bare repository: no work tree, no hooks, no filters."""
    objects = git.Repo.init(folder, bare=True)
    origin = plumbing.open_repository(repo).git.remote("get-url", "origin")
    refs = [f"+refs/pull/{pull.number}/head:refs/labs/pr", f"+refs/heads/{lab.branch}:refs/labs/base"]
    try:
        objects.git.fetch("--quiet", "--no-tags", f"--depth={DEPTH}", "--", origin, *refs)
    except git.GitCommandError as error:
        raise EventError(f"the pull request could not be fetched: {plumbing.last_line(error)}") from None
    return objects


def _answer(objects: git.Repo, lab: Lab, starter: trees.Tree) -> Submission | Refused:
    try:
        return from_commit(Path(objects.git_dir), "refs/labs/pr", lab, starter, "refs/labs/base")
    except Refused as refused:
        return refused


def _tell(event: dict) -> None:
    if event["event"] == "test":
        print(f"{event['index']}/{event['of']} {event['outcome']} {event['id']}", flush=True)
