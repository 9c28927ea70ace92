"""The few things we ask of GitHub's API, over PyGithub.

Requests wait as the headers of a 403 or 429 say. A POST is not repeated blindly after a 5xx, since the first may have
been carried out: what is posted is looked for first, by its marker.
"""

import contextlib
import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, TypeVar

import requests
from github import Auth, Github, GithubException, GithubRetry, UnknownObjectException

from grading.delivery.github.event import EventError, Pull

BOT = 41898282  # github-actions[bot], whatever its login is some day
BOT_LOGIN = "github-actions[bot]"
APP = "github-actions"
MOST_WAIT_S = 300.0  # for a rate limit; longer than that the run fails and says so
TRIES = 3
ANNOTATIONS = 50  # GitHub takes that many in one request
Answer = TypeVar("Answer")


class ForgeError(Exception):
    """GitHub did not do what was asked; `status` is its HTTP status, 0 when there was none."""

    def __init__(self, message: str, status: int = 0):
        super().__init__(message)
        self.status = status


class _Retry(GithubRetry):
    """Everything is tried again, except a POST that may have been carried out."""

    def is_retry(self, method: str, status_code: int, has_retry_after: bool = False) -> bool:
        if method == "POST" and status_code >= 500:
            return False
        return super().is_retry(method, status_code, has_retry_after)


@dataclass(frozen=True)
class Note:
    """A comment: `mine` when the bot wrote it."""

    id: int
    mine: bool
    body: str


@dataclass(frozen=True)
class Check:
    """A check run of ours. `text` is what we stored with it."""

    id: int
    conclusion: str
    summary: str
    text: str


@dataclass(frozen=True)
class Issue:
    """An issue of the bot's."""

    number: int
    open: bool
    body: str


class Forge:
    """One repository on GitHub."""

    def __init__(self, repository: str, token: str, api: str, backoff_s: float = 1.0):
        retry = _Retry(total=TRIES, backoff_factor=backoff_s, secondary_rate_wait=60, max_rate_limit_wait=MOST_WAIT_S)
        self._github = Github(
            auth=Auth.Token(token),
            base_url=api,
            per_page=100,
            lazy=True,
            retry=retry,
            timeout=30,
            seconds_between_requests=0,
            seconds_between_writes=0,
        )
        self._repo = self._github.get_repo(repository)

    @classmethod
    def here(cls, repository: str) -> "Forge":
        """As a workflow's environment says: GITHUB_TOKEN and GITHUB_API_URL."""
        token = os.environ.get("GITHUB_TOKEN", "")
        if not token:
            raise EventError("GITHUB_TOKEN is not set: the workflow gives it to the step that runs this")
        return cls(repository, token, os.environ.get("GITHUB_API_URL", "https://api.github.com"))

    def pull(self, number: int) -> Pull:
        """The pull request as it is now."""
        with _asking(f"pull request {number}"):
            return Pull.model_validate(self._repo.get_pull(number).raw_data)

    def lines(self, number: int) -> dict[str, str]:
        """Path -> the unified diff of a file that the pull request changes (GitHub leaves large ones out)."""
        with _asking(f"the files of pull request {number}"):
            return {one.filename: one.patch or "" for one in self._repo.get_pull(number).get_files()}

    def commits(self, number: int) -> list[str]:
        """The SHAs of a pull request, oldest first (GitHub lists at most 250)."""
        with _asking(f"the commits of pull request {number}"):
            return [one.sha for one in self._repo.get_pull(number).get_commits()]

    def notes(self, number: int) -> list[Note]:
        with _asking(f"the comments of pull request {number}"):
            found = self._repo.get_issue(number).get_comments()
            return [Note(one.id, one.user is not None and one.user.id == BOT, one.body or "") for one in found]

    def write_note(self, number: int, body: str, marker: str) -> None:
        """The one comment of the bot whose first line is `marker` says `body`; made where there is none."""
        _looking_first(lambda: self._write_note(number, body, marker))

    def _write_note(self, number: int, body: str, marker: str) -> None:
        mine = [one for one in self.notes(number) if one.mine and one.body.split("\n", 1)[0] == marker]
        issue = self._repo.get_issue(number)
        with _asking(f"a comment on pull request {number}"):
            if not mine:
                issue.create_comment(body)
                return
            if mine[0].body != body:
                issue.get_comment(mine[0].id).edit(body)
            for twin in mine[1:]:
                issue.get_comment(twin.id).delete()

    def check(self, sha: str, name: str) -> Check | None:
        """The newest of our check runs of that name."""
        with _asking(f"the check runs of {sha[:10]}"):
            runs = self._repo.get_commit(sha).get_check_runs(check_name=name, filter="latest")
            mine = [one for one in runs if one.app is not None and one.app.slug == APP]
            if not mine:
                return None
            newest = max(mine, key=lambda one: one.id)
            output = newest.output
            return Check(newest.id, newest.conclusion or "", output.summary or "", output.text or "")

    def write_check(
        self, sha: str, name: str, conclusion: str, title: str, summary: str, text: str, annotations: list[dict]
    ) -> None:
        """The check run of that name at a commit, made or replaced; annotations go in by fifties."""
        old = self.check(sha, name)
        first, rest = annotations[:ANNOTATIONS], annotations[ANNOTATIONS:]
        output: dict[str, Any] = {"title": title, "summary": summary, "text": text}
        with _asking(f"the check run {name!r}"):
            fields = {"status": "completed", "conclusion": conclusion, "output": output | {"annotations": first}}
            if old:
                run = self._repo.get_check_run(old.id)
                run.edit(**fields)
            else:
                run = self._repo.create_check_run(name, sha, **fields)
            for start in range(0, len(rest), ANNOTATIONS):
                run.edit(output=output | {"annotations": rest[start : start + ANNOTATIONS]})

    def labels(self, number: int) -> set[str]:
        with _asking("labels"):
            return {one.name for one in self._repo.get_issue(number).get_labels()}

    def relabel(self, number: int, add: set[str], drop: set[str]) -> None:
        issue = self._repo.get_issue(number)
        with _asking("labels"):
            if add:
                issue.add_to_labels(*sorted(add))
            for name in sorted(drop):
                issue.remove_from_labels(name)

    def react(self, number: int, comment: int, reaction: str) -> None:
        with _asking("a reaction"):
            self._repo.get_issue(number).get_comment(comment).create_reaction(reaction)

    def issues(self) -> list[Issue]:
        """The bot's own, open or closed, newest first; GitHub lists pull requests among issues, and those are none."""
        with _asking("the issues"):
            found = self._repo.get_issues(state="all", creator=BOT_LOGIN)
            mine = [one for one in found if one.user.id == BOT and "/pull/" not in one.html_url]
            return [Issue(one.number, one.state == "open", one.body or "") for one in mine]

    def open_issue(self, title: str, body: str) -> None:
        with _asking("a new issue"):
            self._repo.create_issue(title, body)

    def edit_issue(self, number: int, body: str, close: bool = False) -> None:
        with _asking(f"issue {number}"):
            self._repo.get_issue(number).edit(body=body, **({"state": "closed"} if close else {}))

    def may_write(self, login: str) -> bool:
        """Whether GitHub says that this user may push to the repository."""
        with _asking(f"what {login} may do"):
            return self._repo.get_collaborator_permission(login) in ("admin", "maintain", "write")

    def release(self, tag: str, title: str, body: str) -> str:
        """The address of the release of `tag`, made where there is none; one that is there stays as it is."""
        return _looking_first(lambda: self._release(tag, title, body))

    def _release(self, tag: str, title: str, body: str) -> str:
        with _asking(f"the release {tag}"):
            with contextlib.suppress(UnknownObjectException):
                return self._repo.get_release(tag).html_url
            return self._repo.create_git_release(tag, title, body, make_latest="false").html_url

    def dispatch(self, workflow: str, ref: str, inputs: dict[str, str]) -> None:
        with _asking(f"a run of {workflow}"):
            self._repo.get_workflow(workflow).create_dispatch(ref, inputs, throw=True)


def _looking_first(write: Callable[[], Answer]) -> Answer:
    """What `write` does, tried again: it looks for what it would post, which an earlier try may have posted."""
    for _ in range(TRIES - 1):
        try:
            return write()
        except ForgeError as error:
            if error.status in (403, 404, 410, 422):
                raise
    return write()


@contextlib.contextmanager
def _asking(what: str) -> Iterator[None]:
    """Every way in which a request fails, as one kind of error with one line."""
    try:
        yield
    except GithubException as error:
        data = error.data if isinstance(error.data, dict) else {}
        raise ForgeError(
            f"GitHub refused {what}: {error.status} {data.get('message', '')}".strip(), error.status
        ) from None
    except (requests.RequestException, OSError) as error:
        raise ForgeError(f"GitHub did not answer for {what}: {type(error).__name__}") from None
    except ValueError as error:
        raise ForgeError(f"GitHub's answer for {what} is not what it should be: {type(error).__name__}") from None
