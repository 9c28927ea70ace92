"""References by tag: ref/l05/vK is one commit on top of lab/l05 with the holes filled, and says what it earned."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import git

from grading.course import trees
from grading.course.catalog import Course, Lab
from grading.course.plumbing import Repository
from grading.course.submission import Refused, Submission, from_tree
from grading.delivery import plumbing
from grading.delivery.leaks import Guard
from grading.delivery.plumbing import ZERO, RefsMoved, RefUpdate, Tree
from grading.delivery.publish import DAY, EPOCH, SCRATCH, WHO, drop_scratch, version_at
from grading.delivery.remote import PublishError, target
from grading.delivery.stream import Stream
from grading.judge.grade import grade
from grading.judge.report import Report, Verdict

NAME = re.compile(r"ref/(l\d\d)/v([1-9]\d{0,5})")
WORKFLOW = ".github/workflows/release.yml"  # GitHub runs for a tag what stands at the tagged commit
OF_THE_ENGINE = {"README.md", "pyproject.toml", ".lab.json"}  # differ with `labs publish --engine`


@dataclass(frozen=True)
class Released:
    """A reference after its release. `changed` is False where the newest tag already shows this one."""

    lab: str
    tag: str
    commit: str
    parent: str
    changed: bool


def release(
    course: Course, labs: Sequence[Lab], to: str, start: Path, notes: str = "", jailed: bool = True
) -> list[Released]:
    """Grade the references of `labs`, then tag them at `to` (see remote.target), a push for each.

    One by one, since GitHub starts nothing for more than three tags at once. PublishError names what is not released;
    what was released before it stays.
    """
    return [_release(course, lab, to, start, notes, jailed) for lab in labs]


def _release(course: Course, lab: Lab, to: str, start: Path, notes: str, jailed: bool) -> Released:
    with target(to, start, "refs/heads/lab/*", f"refs/tags/ref/{lab.id}/*") as (repo, push):
        parent, newest = tip(repo, lab), _newest(repo, lab)
        tree, there = filled(repo, parent, course, lab), plumbing.tag_at(repo, f"ref/{lab.id}/v{newest}")
        if there and (there.tree, there.parents) == (plumbing.tree_id(tree), [parent]):
            return Released(lab.id, there.name, there.commit, there.parents[0], changed=False)
        message = _message(lab, _passed(course, lab, jailed), notes)
        with plumbing.exclusive(repo):
            done = _tag(repo, lab, f"ref/{lab.id}/v{newest + 1}", tree, parent, message)
        push([f"refs/tags/{done.tag}"])
    return done


def _passed(course: Course, lab: Lab, jailed: bool) -> Report:
    starter = trees.starter_tree(course, lab)
    answer = from_tree(lab, trees.reference_tree(course, lab, starter), starter)
    return passed(course, lab, answer, f"the reference of {lab.id}", jailed)


def passed(course: Course, lab: Lab, answer: Submission | Refused, name: str, jailed: bool = True) -> Report:
    """The report of an answer, called `name`. PublishError where it is no PASS that counts."""
    report = grade(course, lab, answer, jailed=jailed)
    if report.verdict is not Verdict.PASS or not report.counts:
        raise PublishError(f"{name} is {_ended(report)}: it is not released")
    return report


def _ended(report: Report) -> str:
    if not report.counts:
        return f"{report.verdict} without a jail"
    return f"{report.verdict} ({report.reason or ', '.join(test.id for test in report.failed[:3])})"


def filled(repo: git.Repo, commit: str, course: Course, lab: Lab) -> Tree:
    """`commit` of the lab's branch with the holes filled. PublishError where it is not the branch of this course."""
    there = _tree_of(repo, commit)
    starter = trees.starter_tree(course, lab)
    reference = trees.reference_tree(course, lab, starter)
    if stale := [path for path in starter if path not in OF_THE_ENGINE and there.get(path) != starter[path]]:
        raise PublishError(f"{lab.branch} has another {stale[0]} than this course: run `labs publish {lab.id}` first")
    tree = there | {path: content for path, content in reference.items() if starter.get(path) != content}
    if (course.root / WORKFLOW).is_file():
        tree[WORKFLOW] = (course.root / WORKFLOW).read_bytes()
    if found := Guard(course).leaks(lab, tree, released=True):
        raise PublishError(f"{lab.id}: " + "; ".join(found))
    return tree


def tip(repo: git.Repo, lab: Lab) -> str:
    """The head of the lab's branch. PublishError where it is not published."""
    ref = f"refs/heads/{lab.branch}"
    if found := plumbing.refs(repo, ref):
        return found[ref][0]
    raise PublishError(f"{lab.branch} is not published there: run `labs publish {lab.id}` first")


def _tree_of(repo: git.Repo, commit: str) -> Tree:
    objects = Repository(Path(repo.git_dir))
    entries = objects.entries(commit)
    contents = objects.blobs([one.sha for one in entries])
    return {one.path: contents[one.sha] for one in entries}


def _message(lab: Lab, report: Report, notes: str) -> str:
    graded = f"Graded PASS: {report.passed_count} hidden tests, seed {report.seed}."
    return "\n\n".join(part for part in (f"{lab.id}: {lab.title}, the reference", notes.strip(), graded) if part)


def _tag(repo: git.Repo, lab: Lab, name: str, tree: Tree, parent: str, message: str) -> Released:
    """The tag `name` on a new commit of `tree` on top of `parent`."""
    drop_scratch(repo)
    scratch = f"{SCRATCH}release-{lab.id}"
    date = EPOCH + version_at(repo, parent) * DAY
    stream = Stream(WHO)
    stream.commit(scratch, f"{lab.id}: the reference\n", date, tree, parent)
    plumbing.fast_import(repo, stream.finish())
    commit = plumbing.refs(repo, scratch)[scratch][0]
    made = plumbing.write_tag(repo, name, commit, WHO, date, message)
    try:
        plumbing.transaction(repo, [RefUpdate(f"refs/tags/{name}", made, ZERO), RefUpdate(scratch, ZERO, commit)])
    except RefsMoved as error:
        raise PublishError(f"{name} appeared meanwhile, nothing was released: run it again ({error})") from None
    return Released(lab.id, name, commit, parent, changed=True)


def _newest(repo: git.Repo, lab: Lab) -> int:
    """The number of the lab's newest tag; 0 before the first."""
    names = [NAME.fullmatch(ref.removeprefix("refs/tags/")) for ref in plumbing.refs(repo, f"refs/tags/ref/{lab.id}/")]
    return max((int(name[2]) for name in names if name), default=0)
