"""What a workflow was started by: the parts of GitHub's event payloads that we read, and nothing else of them.

Every string in a payload may be the learner's. Only numbers, SHAs and names of a known form are used to build anything.
"""

import json
import re
from pathlib import Path
from typing import TypeVar

from pydantic import BaseModel, ConfigDict, Field, ValidationError

LAB_BRANCH = re.compile(r"lab/(l\d\d)")
MOST_BYTES = 32 * 2**20  # GitHub caps payloads at 25 MB


class EventError(Exception):
    """The event file or the environment is not what the workflow gives; the message is one line."""


class _Payload(BaseModel):
    model_config = ConfigDict(extra="ignore", frozen=True)


class User(_Payload):
    """`id` is what compares; a login can be given away and taken by another."""

    id: int
    login: str = Field(pattern=r"^[A-Za-z0-9\[\]_-]{1,60}$")


class Repository(_Payload):
    full_name: str = Field(pattern=r"^[\w.-]{1,100}/[\w.-]{1,100}$")
    default_branch: str = "main"


class Head(_Payload):
    sha: str = Field(pattern=r"^[0-9a-f]{40}([0-9a-f]{24})?$")


class Base(_Payload):
    ref: str


class Pull(_Payload):
    """A pull request. Its head's repository is not read: it is null once the fork is deleted."""

    number: int = Field(gt=0)
    state: str
    head: Head
    base: Base
    user: User

    @property
    def lab_id(self) -> str | None:
        """The lab that it is for, by the branch that it wants to go into; None for any other branch."""
        found = LAB_BRANCH.fullmatch(self.base.ref)
        return found and found[1]


class Inputs(_Payload):
    pr: str = Field(pattern=r"^[1-9]\d{0,8}$")


class PullEvent(_Payload):
    """pull_request_target, or workflow_dispatch with the number of a pull request."""

    repository: Repository
    pull_request: Pull | None = None
    inputs: Inputs | None = None

    @property
    def number(self) -> int:
        if self.pull_request:
            return self.pull_request.number
        if self.inputs:
            return int(self.inputs.pr)
        raise EventError("the event names no pull request: it is neither pull_request_target nor a dispatch with pr=N")


class Label(_Payload):
    name: str


class LabelEvent(_Payload):
    """pull_request_target of type labeled. `sender` set the label; the head is what it was then."""

    action: str
    repository: Repository
    pull_request: Pull
    label: Label
    sender: User


class Issue(_Payload):
    number: int = Field(gt=0)
    state: str
    user: User
    pull_request: dict | None = None


class Comment(_Payload):
    id: int
    body: str = ""
    user: User
    author_association: str = "NONE"


class CommentEvent(_Payload):
    """issue_comment."""

    action: str
    repository: Repository
    issue: Issue
    comment: Comment


class TagEvent(_Payload):
    """push of a tag."""

    repository: Repository
    ref: str
    created: bool

    @property
    def tag(self) -> str:
        return self.ref.removeprefix("refs/tags/")


Payload = TypeVar("Payload", PullEvent, CommentEvent, LabelEvent, TagEvent)


def read(path: Path, kind: type[Payload]) -> Payload:
    """The event file as a `kind`; EventError says what is wrong with it."""
    try:
        if path.stat().st_size > MOST_BYTES:
            raise EventError(f"{path} is larger than any event of GitHub's")
        return kind.model_validate(json.loads(path.read_bytes()))
    except ValidationError as error:
        first = error.errors()[0]
        where = ".".join(map(str, first["loc"]))
        raise EventError(f"{path}: {where}: {first['msg']}; is it the file of GITHUB_EVENT_PATH?") from None
    except (OSError, ValueError, RecursionError) as error:
        raise EventError(f"{path}: {error}; --event takes the file of GITHUB_EVENT_PATH") from None
