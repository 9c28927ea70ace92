"""Which commit may go onto the GPU runner: the one that a maintainer put the label on, and no other.

The label is the first of two gates. The second is the runner's environment on GitHub, whose reviewers see the commit.
"""

from grading.course.catalog import Course
from grading.course.seals import has_gpu
from grading.delivery.github.event import LabelEvent, Pull
from grading.delivery.github.forge import Forge, ForgeError

LABEL = "gpu"


class NotAdmitted(Exception):
    """The message says why, in one line."""


def admit(course: Course, forge: Forge, event: LabelEvent) -> str:
    """The commit that the labelled pull request had, when it still has it and who labelled it may write."""
    if event.action != "labeled" or event.label.name != LABEL:
        raise NotAdmitted(f"only the label {LABEL!r} lets a commit onto the GPU runner")
    if not forge.may_write(event.sender.login):
        raise NotAdmitted(f"{event.sender.login} may not write to this repository: the label counts for nothing")
    now, head = forge.pull(event.pull_request.number), event.pull_request.head.sha
    if now.state != "open" or now.head.sha != head:
        raise NotAdmitted("the pull request has moved on since it was labelled")
    lab = next((lab for lab in course.labs if lab.id == now.lab_id), None)
    if lab is None or not has_gpu(lab):
        raise NotAdmitted(f"{lab.id if lab else 'this branch'} has no tests for a GPU")
    return head


def withdraw(forge: Forge, pull: Pull) -> None:
    """Take the label off a pull request that has a new commit; it may be gone already."""
    try:
        forge.relabel(pull.number, add=set(), drop={LABEL})
    except ForgeError as error:
        if error.status != 404:
            raise
