"""The judge's own process, seen from the grading: start it with its jails, hand it trees and a job, read events.

It starts on empty folders and knows of a lab only its run settings, so it can be warmed up before there is anything
to grade. A learner's commit gets a process of its own and one job. The course's own trees (reference, mistakes) may
share one: between two jobs the files that the jail sees at /lab are replaced, and each job runs in a fresh fork on
both sides.
"""

import contextlib
import importlib.util
import json
import marshal
import os
import selectors
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Collection, Iterator
from functools import lru_cache
from pathlib import Path, PurePosixPath
from typing import Any, BinaryIO

from grading.course.catalog import Lab
from grading.course.trees import Tree
from grading.judge.report import TestResult
from grading.sandbox.scratch import Scratch

CLOSE_S = 5.0
UNCHECKED = 0b01  # flags of a .pyc: known by a hash, which is not looked at
SIDES = ["submission", "reference"]
JOB_LIMITS = ("probe_s", "wall_s")  # come with each job; all other limits are the jail's
Event = dict[str, Any]
LATE: Event = {"event": "infra", "reason": "the judge ran over its time"}
FORMS: dict[str, dict[str, type]] = {
    "warm": {"event": str},
    "start": {"event": str, "ids": list},
    "test": {"event": str, "result": dict},
    "infra": {"event": str, "reason": str},
    "end": {"event": str, "code": int},
}


class Judge:
    """One process of grading.judge.session. Close it; everything it started ends with it."""

    def __init__(self, settings: dict[str, Any], with_reference: bool, jailed: bool):
        """`settings` are run_settings of a lab; `with_reference`: start the reference's jail at once, too."""
        scratch = Scratch()
        for folder in (scratch.path, *(scratch.path / side for side in SIDES)):
            folder.mkdir(exist_ok=True)
            folder.chmod(0o755)  # whatever our umask: the jail's uid owns nothing
        errors = tempfile.TemporaryFile()  # noqa: SIM115  closed by let_go()
        events, writing = os.pipe()
        try:
            self._child: subprocess.Popen[bytes] | None = _start(writing, errors)
        finally:
            os.close(writing)
        self._become(scratch, self._child.pid, self._child.stdin, events, errors, warm=False)
        trees = {side: str(scratch.path / side) for side in SIDES}
        sides = SIDES if with_reference else SIDES[:1]
        self._tell(settings | {"trees": trees, "jailed": jailed, "sides": sides, "events_fd": writing})

    def _become(self, scratch: Scratch, pid: int, jobs: BinaryIO, events: int, errors: BinaryIO, warm: bool) -> None:
        self._scratch, self._pid, self._jobs, self._events, self._errors = scratch, pid, jobs, events, errors
        self._warm = warm
        self._given: dict[str, Tree] = {}
        self._buffer = b""
        self.broken = False  # a job began and has not come to its end: what is read next may be its

    def hand_over(self) -> tuple[dict[str, Any], list[int]]:
        """What `adopt` makes this judge of in another process: JSON and descriptors. Let go of it here, then."""
        told = {"pid": self._pid, "folder": str(self._scratch.path), "warm": self._warm}
        fds = [self._jobs.fileno(), self._events, self._errors.fileno()]
        return told, fds + ([self._scratch.lock] if self._scratch.lock is not None else [])

    @classmethod
    def adopt(cls, told: dict[str, Any], fds: list[int]) -> "Judge":
        """The judge that another process hands over, unused."""
        jobs, events, errors, *lock = fds
        judge = cls.__new__(cls)
        judge._child = None
        scratch = Scratch.given(Path(told["folder"]), lock[0] if lock else None)
        judge._become(scratch, told["pid"], os.fdopen(jobs, "wb"), events, os.fdopen(errors, "rb"), told["warm"])
        return judge

    def let_go(self) -> "subprocess.Popen[bytes] | None":
        """Close our ends of it without asking it to end: it is another process's now. The child is to be reaped."""
        with contextlib.suppress(BrokenPipeError):
            self._jobs.close()
        os.close(self._events)
        self._errors.close()
        self._scratch.let_go()
        return self._child

    def fileno(self) -> int:
        """Readable once the process is warm, or has ended."""
        return self._events

    def await_warm(self, timeout_s: float) -> bool:
        """Are its jails up and torch imported? False when that takes longer, or it has ended."""
        self._warm = self._warm or self._next(time.monotonic() + timeout_s)["event"] == "warm"
        return self._warm

    @property
    def alive(self) -> bool:
        """For the process that started it."""
        return self._child is not None and self._child.poll() is None

    def run(
        self, tree: Tree, editable: Collection[str], reference: Tree, job: dict[str, Any], timeout_s: float
    ) -> Iterator[Event]:
        """Lay `tree` out as the submission and grade it: the events of one job, the last is `end` or `infra`.

        The paths in `editable` are the learner's: no bytecode is made of them here. After a job that broke off
        there is no other: the process is `broken`, close it.
        """
        if self.broken:
            yield {"event": "infra", "reason": "the judge's process broke off in an earlier job"}
            return
        self.broken = True
        self._lay_out("submission", tree, editable)
        self._lay_out("reference", reference, ())
        self._tell(job)
        deadline = time.monotonic() + timeout_s
        while (event := self._next(deadline))["event"] not in ("end", "infra"):
            if event["event"] != "warm":
                yield event
        self.broken = event["event"] != "end"
        yield event

    def _lay_out(self, side: str, tree: Tree, editable: Collection[str]) -> None:
        """Make the folder that a jail shows at /lab hold `tree` and nothing else; what is given is laid out once."""
        folder = self._scratch.path / side
        theirs = {path: tree[path] for path in editable}
        given = {path: blob for path, blob in tree.items() if path not in theirs}
        if self._given.get(side) != given:
            for entry in folder.iterdir():
                shutil.rmtree(entry) if entry.is_dir() else entry.unlink()
            write_tree(folder, given | _compiled(given))
            self._given[side] = given
        write_tree(folder, theirs)

    def _tell(self, message: dict[str, Any]) -> None:
        """A process that is gone is noticed on its events, with what it said last."""
        try:
            self._jobs.write(json.dumps(message).encode() + b"\n")
            self._jobs.flush()
        except BrokenPipeError:
            pass

    def _next(self, deadline: float) -> Event:
        with selectors.DefaultSelector() as selector:
            selector.register(self._events, selectors.EVENT_READ)
            while b"\n" not in self._buffer:
                if not selector.select(max(0.0, deadline - time.monotonic())):
                    return LATE
                data = os.read(self._events, 1 << 16)
                if not data:
                    return {"event": "infra", "reason": f"the judge ended early: {self._last_words()}"}
                self._buffer += data
        line, _, self._buffer = self._buffer.partition(b"\n")
        return read_event(line)

    def _last_words(self) -> str:
        self._errors.seek(0)
        return " / ".join(self._errors.read().decode(errors="replace").strip().splitlines()[-2:]) or "without a word"

    def close(self) -> None:
        """Ask it to end, so that it can take its jails down; then make it."""
        with contextlib.suppress(BrokenPipeError):
            self._jobs.close()
        if not self._hangs_up(time.monotonic() + CLOSE_S):
            with contextlib.suppress(ProcessLookupError):
                os.kill(self._pid, signal.SIGKILL)
        if self._child:
            self._child.wait()
        shutil.rmtree(self._scratch.path, ignore_errors=True)
        self.let_go()

    def _hangs_up(self, deadline: float) -> bool:
        """Does it close its events, the last thing it does? It need not be our child."""
        with selectors.DefaultSelector() as selector:
            selector.register(self._events, selectors.EVENT_READ)
            while selector.select(max(0.0, deadline - time.monotonic())):
                if not os.read(self._events, 1 << 16):
                    return True
        return False


def read_event(line: bytes) -> Event:
    """One line of the judge's process as an event, its test result as a TestResult; what is none is `infra`."""
    try:
        event = json.loads(line)
        form = FORMS[event["event"]]
        if event.keys() == form.keys() and all(type(event[key]) is kind for key, kind in form.items()):
            return event | ({"result": TestResult(**event["result"])} if "result" in event else {})
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        pass
    return {"event": "infra", "reason": f"the judge said what is no event: {line[:80]!r}"}


def _start(events_fd: int, errors: Any) -> subprocess.Popen[bytes]:
    """In isolated mode, without plugins, deaf to the terminal's Ctrl-C; `events_fd` is its one way to be heard."""
    return subprocess.Popen(
        [sys.executable, "-I", "-m", "grading.judge.session"],
        stdin=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
        stderr=errors,
        pass_fds=[events_fd],
        env={"PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1", "OMP_NUM_THREADS": "1", "PATH": os.environ.get("PATH", "")},
        start_new_session=True,
    )


def wants_reference(lab: Lab) -> bool:
    """Do the hidden tests speak of the reference? Then its jail starts at once; else it would when first asked for."""
    return any("reference" in path.read_text(encoding="utf-8") for path in (lab.folder / "hidden").glob("*.py"))


def _compiled(trusted: Tree) -> Tree:
    """Bytecode for the course's own files, which else each rank would compile for itself; never for the learner's."""
    sources = {PurePosixPath(path): blob for path, blob in trusted.items() if path.endswith(".py")}
    made = {path: _bytecode(str(path), blob) for path, blob in sources.items()}
    tag = sys.implementation.cache_tag
    return {f"{path.parent}/__pycache__/{path.stem}.{tag}.pyc": code for path, code in made.items() if code}


@lru_cache(maxsize=1024)
def _bytecode(path: str, source: bytes) -> bytes:
    """A .pyc that is taken without a look at the source (PEP 552); nothing where the source is no Python."""
    try:
        code = marshal.dumps(compile(source, path, "exec", dont_inherit=True))
    except (SyntaxError, ValueError):
        return b""
    return importlib.util.MAGIC_NUMBER + UNCHECKED.to_bytes(4, "little") + importlib.util.source_hash(source) + code


def write_tree(folder: Path, tree: Tree) -> None:
    """Write a tree that the jail's uid, which owns nothing, can read."""
    for path, content in tree.items():
        target = folder / path
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(content)
    for folder_path, _, files in os.walk(folder):
        os.chmod(folder_path, 0o755)
        for name in files:
            os.chmod(os.path.join(folder_path, name), 0o644)
