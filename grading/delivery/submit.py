"""Handing an answer in: push a commit to where it is graded, stream what comes back, remember the verdict."""

import contextlib
import re
import subprocess
from collections.abc import Callable
from dataclasses import dataclass

import git

from grading.course.catalog import Course, Lab
from grading.delivery import local, plumbing, records
from grading.delivery.clone import HUB, CloneError, grader
from grading.delivery.records import Record
from grading.feedback.advice import topics
from grading.judge.report import Report, Verdict

SEEN_NOTES = "refs/notes/labs-hub"
GITHUB = re.compile(r"(?:https://|ssh://git@|git@)github\.com[:/](?P<owner>[^/]+)/(?P<name>[^/]+?)(?:\.git)?/?")


@dataclass(frozen=True)
class Sent:
    """What became of a push: the hub's record, or the page that opens a pull request."""

    record: Record | None = None
    link: str = ""

    @property
    def exit_code(self) -> int:
        return Verdict(self.record.verdict).exit_code if self.record else 0


def submit(repo: git.Repo, course: Course, lab: Lab, say: Callable[[str], None]) -> Sent:
    """Push HEAD to be graded. CloneError where there is nothing to push, no place for it, or no verdict."""
    refuse_dirty(repo)
    commit, remote = _head(repo), grader(repo, lab)
    if remote != HUB and GITHUB.fullmatch(repo.remote(remote).url):
        return Sent(link=_open_pull_request(repo, course, lab, remote, say))
    push(repo, remote, f"{commit}:refs/for/{lab.branch}", say)
    record = verdict(repo, remote, lab, commit)
    if record is None:
        raise CloneError(f"{remote} took the commit but noted no verdict: `labs submit` again")
    remember(repo, record)
    return Sent(record)


def _head(repo: git.Repo) -> str:
    try:
        return repo.head.commit.hexsha
    except ValueError:
        raise CloneError("this branch has no commit yet: `labs start` makes a branch that can be submitted") from None


def refuse_dirty(repo: git.Repo) -> None:
    """What is pushed is a commit: CloneError names what is not in one yet."""
    changes = repo.git.status("--porcelain", strip_newline_in_stdout=False).splitlines()
    names = [line[3:] for line in changes if not line.startswith("??")]
    if names:
        shown = ", ".join(names[:3]) + (f" and {len(names) - 3} more" if len(names) > 3 else "")
        raise CloneError(f"not committed yet: {shown}. Only commits are graded: `git commit -am '…'` first")


def _open_pull_request(repo: git.Repo, course: Course, lab: Lab, remote: str, say: Callable[[str], None]) -> str:
    if repo.head.is_detached:
        raise CloneError("HEAD is on no branch: `git switch -c my-answer` first, a pull request needs one")
    branch = repo.active_branch.name
    push(repo, remote, f"HEAD:refs/heads/{branch}", say)
    return pull_request(repo.remote(remote).url, course.url, lab, branch)


def pull_request(mine: str, course_url: str, lab: Lab, branch: str) -> str:
    """The page that opens the pull request from `branch` of `mine` (a GitHub URL) into the course's lab branch."""
    fork = GITHUB.fullmatch(mine)
    theirs = GITHUB.fullmatch(course_url) or fork
    head = branch if theirs["owner"] == fork["owner"] else f"{fork['owner']}:{branch}"
    return f"https://github.com/{theirs['owner']}/{theirs['name']}/compare/{lab.branch}...{head}?expand=1"


def push(repo: git.Repo, remote: str, refspec: str, say: Callable[[str], None]) -> None:
    """Push, each line of the remote passed to `say` as it comes; CloneError when it was refused."""
    plain = ["--no-follow-tags", "--no-signed", "--no-recurse-submodules"]  # whatever the learner's own settings are
    command = ["git", "-C", str(repo.working_dir), "push", *plain, remote, refspec]
    pipes = {"stdout": subprocess.DEVNULL, "stderr": subprocess.PIPE}
    last = ""
    with subprocess.Popen(command, text=True, errors="replace", **pipes) as process:
        for line in process.stderr or []:
            if line.startswith("remote:"):
                say(line.removeprefix("remote:").removeprefix(" ").rstrip())
            elif "rejected]" in line or not last:
                last = line.strip()
    if process.returncode:
        raise CloneError(f"git push {remote} {refspec} failed: {last}")


def verdict(repo: git.Repo, remote: str, lab: Lab, commit: str) -> Record | None:
    """What the hub noted about a commit of this learner; None when it noted nothing."""
    with contextlib.suppress(git.GitCommandError):
        repo.git.fetch("--quiet", "--no-tags", remote, f"+{records.NOTES}:{SEEN_NOTES}")
    user = records.user_of(repo, commit)
    found = [one for one in records.of_commit(repo, commit, SEEN_NOTES) if one.key == (lab.id, user)]
    return found[-1] if found else None


def remember(repo: git.Repo, record: Record) -> None:
    """Keep a counted verdict in this clone's own state, once."""
    report = Report.model_validate(record.report)
    with local.updating(plumbing.common_dir(repo), record.lab) as state:
        if record.attempt and all(mark.commit != record.commit for mark in state.attempts):
            state.mark(report, topics(report), record.commit)
