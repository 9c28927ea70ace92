"""What release.yml does: hold a new tag ref/l05/vK against the course, then announce it. A tag is never written to.

GitHub runs the workflow that stands at the tagged commit, so nothing of the tag decides: the program and the course
are those of the default branch, and the tag has to be what `labs release` makes of them.
"""

import contextlib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import git

from grading.course import trees
from grading.course.catalog import Course, Lab
from grading.course.plumbing import Repository
from grading.course.submission import Refused, Submission, from_commit
from grading.delivery import plumbing
from grading.delivery.github import workflow
from grading.delivery.github.event import TagEvent
from grading.delivery.github.forge import Forge
from grading.delivery.plumbing import Tag, Tree
from grading.delivery.release import NAME, filled, passed, tip
from grading.delivery.remote import PublishError, target
from grading.feedback.escape import clip, code, fence, inline
from grading.judge.report import Report

MOST_TITLE, MOST_NOTES, MOST_DIFF = 200, 10_000, 50_000  # characters; GitHub takes 125,000 in a text


@dataclass(frozen=True)
class Verified:
    """A tag that may be announced, but for the author gate; `report` is of its commit."""

    lab: Lab
    tag: Tag
    report: Report


def verify(course: Course, event: TagEvent, repo: Path) -> Verified:
    """Hold the tag of `event`, at the origin of `repo`, against `course`. PublishError says what does not hold."""
    lab = _lab(course, event.tag)
    if not event.created:
        raise PublishError(f"{event.tag} was moved: a released reference stays, and the next one has the next number")
    with _fetched(event, repo) as (there, tag):
        head = tip(there, lab)
        if tag.parents != [head]:
            raise PublishError(
                f"{tag.name} is not one commit on top of {lab.branch}, as `labs release {lab.id}` makes it"
            )
        _refuse_other(there, tag, filled(there, head, course, lab))
        report = passed(course, lab, _answer(course, lab, there, tag), tag.name)
    return Verified(lab, tag, report)


def announce(course: Course, event: TagEvent, repo: Path, sha: str, run: str, forge: Forge) -> str:
    """Make the release of the tag object `sha`, which job `verify` of the run at the address `run` let pass.

    Returns its address. PublishError where the tag is another one by now.
    """
    lab = _lab(course, event.tag)
    with _fetched(event, repo) as (there, tag):
        if tag.sha != sha:
            raise PublishError(f"{tag.name} has moved since it was verified")
        changes = ["--no-ext-diff", "--no-textconv", "--no-color", tag.parents[0], tag.commit, "--"]
        diff = there.git.diff(*changes, *lab.editable_paths)
    return forge.release(tag.name, clip(tag.subject, MOST_TITLE), _page(lab, tag, diff, run))


def refuse(event: TagEvent, reasons: list[str]) -> None:
    """Say in the log and on the page of the run why a tag is not announced."""
    name = clip(event.tag, 80)
    workflow.error(f"{name} is not released: {'; '.join(reasons)}")
    lines = "".join(f"- {inline(reason)}\n" for reason in reasons)
    workflow.summary(f"## {code(name)} is not released\n\n{lines}\nThe tag is left as it is.")


def _lab(course: Course, name: str) -> Lab:
    found = NAME.fullmatch(name)
    lab = next((lab for lab in course.labs if found and lab.id == found[1]), None)
    if lab is None:
        raise PublishError(f"{clip(name, 80)} is no name of a reference: that is ref/LAB/vN, such as ref/l05/v1")
    return lab


@contextlib.contextmanager
def _fetched(event: TagEvent, repo: Path) -> Iterator[tuple[git.Repo, Tag]]:
    """A repository with the tag and the lab branches of the origin of `repo`."""
    with target("origin", repo, "refs/heads/lab/*", f"refs/tags/{event.tag}") as (there, _):
        tag = plumbing.tag_at(there, event.tag)
        if tag is None:
            raise PublishError(f"{event.tag} is no annotated tag of a commit")
        yield there, tag


def _refuse_other(repo: git.Repo, tag: Tag, wanted: Tree) -> None:
    """The tag shows this very reference, and not one file more."""
    if tag.tree == plumbing.tree_id(wanted):
        return
    found = {one.path: one.sha for one in Repository(Path(repo.git_dir)).entries(tag.commit)}
    ours = {path: plumbing.blob_id(content) for path, content in wanted.items()}
    other = sorted(path for path in {*found, *ours} if found.get(path) != ours.get(path)) or ["modes"]
    more = f" and {len(other) - 3} more" if len(other) > 3 else ""
    raise PublishError(
        f"{tag.name} is not main's reference, they differ in {', '.join(other[:3])}{more}: "
        f"`labs adopt {tag.name}` carries its patch to main, then release anew"
    )


def _answer(course: Course, lab: Lab, repo: git.Repo, tag: Tag) -> Submission | Refused:
    try:
        return from_commit(Path(repo.git_dir), tag.commit, lab, trees.starter_tree(course, lab))
    except Refused as refused:
        return refused


def _page(lab: Lab, tag: Tag, diff: str, run: str) -> str:
    """The text of the release: the notes are a maintainer's, and Markdown."""
    return f"""\
{clip(tag.body, MOST_NOTES)}

Commit {code(tag.commit[:10])} was graded again, and the author gate passes: [the run]({run}).
Into a clone: {code(f"git fetch origin tag {tag.name}")}.

<details><summary>The patch on {lab.branch}</summary>

{fence(diff, MOST_DIFF, "diff")}

</details>
"""
