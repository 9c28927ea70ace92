"""The learner's own book-keeping in `<git common dir>/labs/state.json`: attempts, hints, seals, times."""

import contextlib
import fcntl
import json
import os
import tempfile
import time
from collections.abc import Iterator
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from pydantic import TypeAdapter

from grading.course.plumbing import GitError, Repository
from grading.feedback.progress import Standing, Try
from grading.judge.report import Report, Verdict

FILE = "state.json"


@dataclass
class Mark:
    """One grading of this clone: commit (None: the work tree), verdict, topics of the failed tests, ISO 8601 UTC."""

    commit: str | None
    verdict: str
    topics: list[str]
    when: str


@dataclass
class LabState:
    """What happened in one lab. `hints`: topic -> highest level asked for; `seals`: name -> when it was earned."""

    started: str = ""
    attempts: list[Mark] = field(default_factory=list)
    hints: dict[str, int] = field(default_factory=dict)
    seals: dict[str, str] = field(default_factory=dict)
    solution: str = ""  # "earned …" or "anyway …", with the time
    branch: str = ""  # the learner's own branch
    failing: str = ""  # topic of the first failure of the last `labs test`
    exam: dict[str, Any] = field(default_factory=dict)  # the examiner's form

    def mark(self, report: Report, topics: list[str], commit: str | None) -> None:
        """Note one counted grading with the topics that failed, and the seal that a PASS earns."""
        self.attempts.append(Mark(commit, str(report.verdict), topics, now()))
        if report.verdict == "PASS" and report.counts:
            self.seals.setdefault(report.seal, now())

    @property
    def passed(self) -> bool:
        return any(mark.verdict == "PASS" for mark in self.attempts)


State = dict[str, LabState]  # by lab id
STATE = TypeAdapter(State)


def now() -> str:
    return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())


def load(common_dir: Path) -> State:
    """The state of the clone whose shared git directory is `common_dir`; a damaged file is set aside."""
    path = common_dir / "labs" / FILE
    try:
        return STATE.validate_json(path.read_bytes())
    except FileNotFoundError:
        return {}
    except ValueError:
        with contextlib.suppress(OSError):
            path.replace(path.with_suffix(".broken"))
        return {}


def load_here(start: Path) -> State:
    """The state of the clone around `start`; nothing where there is no clone."""
    try:
        return load(Repository(start).common_dir())
    except GitError:
        return {}


def as_json(state: State) -> dict[str, Any]:
    return {lab: asdict(one) for lab, one in state.items()}


def summary(state: State, labs: int) -> str:
    """The figures under the map."""
    seals = sum("patch" in one.seals for one in state.values())
    attempts = sum(len(one.attempts) for one in state.values())
    return f"{seals} of {labs} labs have the Patch seal, after {attempts} attempt{'s' * (attempts != 1)} in all."


def standings(state: State) -> dict[str, Standing]:
    """The state as feedback's map reads it."""
    return {lab: Standing(lab=lab, seals=list(one.seals), attempts=len(one.attempts)) for lab, one in state.items()}


def tries(state: State) -> dict[str, list[Try]]:
    """Each lab's attempts, oldest first, as feedback's page reads them."""
    return {lab: [Try(mark.when, Verdict(mark.verdict)) for mark in one.attempts] for lab, one in state.items()}


def published(start: Path) -> set[str]:
    """Ids of the labs whose branch the clone around `start` has, or knows of a remote; none where there is no clone."""
    try:
        refs = Repository(start).text("for-each-ref", "--format=%(refname)", "refs/heads/lab/", "refs/remotes/*/lab/")
    except GitError:
        return set()
    return {ref.rpartition("/")[2] for ref in refs.splitlines()}


@contextlib.contextmanager
def updating(common_dir: Path, lab: str) -> Iterator[LabState]:
    """The state of one lab to change; written back whole when the block ends without an error."""
    folder = common_dir / "labs"
    folder.mkdir(exist_ok=True)
    with open(folder / "state.lock", "a") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        state = load(common_dir)
        yield state.setdefault(lab, LabState())
        _save(folder, state)


def _save(folder: Path, state: State) -> None:
    text = json.dumps(as_json(state), indent=1)
    with tempfile.NamedTemporaryFile("w", dir=folder, delete=False) as fresh:
        fresh.write(text)
        fresh.flush()
        os.fsync(fresh.fileno())
    Path(fresh.name).replace(folder / FILE)
