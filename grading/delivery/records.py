"""The hub's memory: one record a graded commit, lab and learner, as git notes; one ref an attempt.

A note of refs/notes/labs is JSON lines, one record each. Whoever can fetch from the hub can read them, so
only what the learner is told goes in, and of source lines only those of files that the learner has.
"""

import contextlib
import json
import re
import time
from collections.abc import Iterable
from dataclasses import asdict, dataclass, replace
from typing import Any

import git
from pydantic import ConfigDict, TypeAdapter

from grading.delivery import local, plumbing
from grading.delivery.plumbing import ZERO, RefsMoved, RefUpdate
from grading.delivery.stream import Stream
from grading.feedback.advice import Advice
from grading.judge.report import Report

NOTES = "refs/notes/labs"
SCRATCH = "refs/publish/notes"
WHO = "Mainline hub <hub@mainline.invalid>"
COUNTED = {"PASS", "FAIL", "TIMEOUT", "TAMPER"}
TRIES = 20


@dataclass(frozen=True)
class Record:
    """What the hub remembers of one grading. `attempt` is None when it counts as none; `when` is ISO 8601 UTC.

    `number` counts the hub's records: clocks go back, and many pushes have one second.
    """

    __pydantic_config__ = ConfigDict(extra="forbid")

    lab: str
    user: str
    commit: str
    attempt: int | None
    when: str
    report: dict[str, Any]
    advice: dict[str, Any]
    text: str = ""
    number: int = 0

    @property
    def verdict(self) -> str:
        return self.report["verdict"]

    @property
    def attempt_ref(self) -> str:
        return f"refs/attempts/{self.lab}/{self.user}/{self.attempt}" if self.attempt else ""

    @property
    def key(self) -> tuple[str, str]:
        return self.lab, self.user


RECORD = TypeAdapter(Record)


def user_of(repo: git.Repo, commit: str, name: str = "") -> str:
    """Whose attempt a commit is: `name`, else the committer's mail up to the @; made fit for a ref name."""
    name = name or _mail(repo, commit).partition("@")[0]
    return re.sub(r"[^a-z0-9_-]+", "-", name.lower())[:40].strip("-") or "learner"


def _mail(repo: git.Repo, commit: str) -> str:
    """As git reads it: GitPython knows no commit whose header names an encoding that Python lacks."""
    return repo.git.show("--no-patch", "--no-show-signature", "--format=%ce", "--end-of-options", commit)


def of_commit(repo: git.Repo, commit: str, notes: str = NOTES) -> list[Record]:
    """The records of one commit, oldest first."""
    with contextlib.suppress(git.GitCommandError):
        return _parse(repo.git.notes("--ref", notes, "show", commit))
    return []


def find(repo: git.Repo, commit: str, lab: str, user: str) -> Record | None:
    """The verdict that `user` already has for this commit in `lab`; an INFRA is none."""
    found = [r for r in of_commit(repo, commit) if r.key == (lab, user) and r.verdict != "INFRA"]
    return found[-1] if found else None


def everything(repo: git.Repo) -> list[Record]:
    """All records of the hub, oldest first."""
    if NOTES not in plumbing.refs(repo, NOTES):
        return []
    listing = repo.git.notes("--ref", NOTES, "list").splitlines()
    notes = [plumbing.read_blob(repo, line.split(" ")[0]) or b"" for line in listing]
    found = [record for note in notes for record in _parse(note.decode())]
    return sorted(found, key=lambda record: (record.number, record.when))


def attempts(repo: git.Repo, lab: str, user: str) -> list[Record]:
    """The counted gradings of one learner in one lab, by attempt number."""
    commits = {commit for commit, _ in plumbing.refs(repo, f"refs/attempts/{lab}/{user}").values()}
    found = [r for commit in commits for r in of_commit(repo, commit) if r.key == (lab, user) and r.attempt]
    return sorted(found, key=lambda record: record.attempt or 0)


def record(lab: str, user: str, commit: str, report: Report, advice: Advice, text: str) -> Record:
    """A record of a fresh grading; `save` gives it its attempt number."""
    told = report.model_dump(mode="json"), advice.model_dump(mode="json")
    return Record(lab, user, commit, None, local.now(), *told, text)


def public(report: Report, shown: Iterable[str]) -> Report:
    """The report with the source text of every stack frame outside the files `shown` blanked."""
    return Report.model_validate(_without_text(report.model_dump(mode="json"), frozenset(shown)))


def _without_text(value: Any, shown: frozenset[str]) -> Any:
    if isinstance(value, dict):
        if "function" in value and value.get("path") not in shown:
            value = {**value, "text": ""}
        return {key: _without_text(inner, shown) for key, inner in value.items()}
    return [_without_text(inner, shown) for inner in value] if isinstance(value, list) else value


def save(repo: git.Repo, fresh: Record) -> Record:
    """Keep a record: attempt ref and note move in one transaction, tried again when another push was faster.

    An INFRA record never takes the place of a verdict, and only COUNTED verdicts take an attempt number. Of one
    commit that was pushed many times at once the first verdict is kept and returned: it is one attempt.
    """
    for _ in range(TRIES):
        with plumbing.exclusive(repo), contextlib.suppress(RefsMoved):
            return _save_once(repo, fresh)
    raise RefsMoved(f"{NOTES} moved {TRIES} times: push again")


def _save_once(repo: git.Repo, fresh: Record) -> Record:
    others = of_commit(repo, fresh.commit)
    if known := [one for one in others if one.key == fresh.key and one.verdict != "INFRA"]:
        return fresh if fresh.verdict == "INFRA" else known[-1]
    fresh = replace(fresh, number=_count(repo) + 1, attempt=_next_attempt(repo, fresh))
    kept = [one for one in others if one.key != fresh.key]
    updates = [_note(repo, fresh.commit, [*kept, fresh])]
    if fresh.attempt:
        updates.append(RefUpdate(fresh.attempt_ref, fresh.commit, ZERO))
    plumbing.transaction(repo, [*updates, RefUpdate(SCRATCH, ZERO, updates[0].new)])
    return fresh


def _count(repo: git.Repo) -> int:
    """How many records were kept so far: each is one commit of the notes."""
    return int(repo.git.rev_list("--count", NOTES)) if NOTES in plumbing.refs(repo, NOTES) else 0


def _next_attempt(repo: git.Repo, fresh: Record) -> int | None:
    if fresh.verdict not in COUNTED:
        return None
    taken = plumbing.refs(repo, f"refs/attempts/{fresh.lab}/{fresh.user}")
    return 1 + max((int(ref.rpartition("/")[2]) for ref in taken), default=0)


def _note(repo: git.Repo, commit: str, kept: list[Record]) -> RefUpdate:
    """Write the note's objects behind a scratch ref; the move of NOTES is left to the transaction."""
    left = plumbing.refs(repo, SCRATCH, NOTES)
    if SCRATCH in left:
        plumbing.transaction(repo, [RefUpdate(SCRATCH, ZERO, left[SCRATCH][0])])
    old = left[NOTES][0] if NOTES in left else None
    content = "".join(json.dumps(asdict(one)) + "\n" for one in kept)
    stream = Stream(WHO)
    stream.note(SCRATCH, f"{kept[-1].lab}: {kept[-1].verdict}\n", int(time.time()), commit, content.encode(), old)
    plumbing.fast_import(repo, stream.finish())
    return RefUpdate(NOTES, plumbing.refs(repo, SCRATCH)[SCRATCH][0], old or ZERO)


def _parse(note: str) -> list[Record]:
    return [record for line in note.split("\n") if (record := _read(line)) is not None]


def _read(line: str) -> Record | None:
    """A line that is not whole, or not of a report, is no record: never believed, and its commit is graded again."""
    with contextlib.suppress(ValueError, TypeError, RecursionError):
        record = RECORD.validate_python(json.loads(line))
        Report.model_validate(record.report)
        return record
    return None
