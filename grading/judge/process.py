"""The judge's own process, seen from the grading: start it with its jails, hand it trees and a job, read events.

It starts on empty folders and knows of a lab only its run settings, so it can be warmed up before there is anything
to grade. A learner's commit gets a process of its own and one job. The course's own trees (reference, mistakes) may
share one: between two jobs the files that the jail sees at /lab are replaced, and each job runs in a fresh fork on
both sides.
"""

import json
import os
import py_compile
import selectors
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Collection, Iterator
from pathlib import Path
from py_compile import PycInvalidationMode
from typing import Any

from grading.course.catalog import Lab
from grading.course.trees import Tree
from grading.judge.report import TestResult
from grading.sandbox.scratch import Scratch

CLOSE_S = 5.0
SIDES = ["submission", "reference"]
Event = dict[str, Any]
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
        self._scratch = Scratch()
        self._folder = self._scratch.path
        self._folder.chmod(0o755)
        self._reference: Tree = {}
        for side in SIDES:
            (self._folder / side).mkdir()
            (self._folder / side).chmod(0o755)  # whatever our umask: the jail's uid owns nothing
        self._errors = tempfile.TemporaryFile()  # noqa: SIM115  closed by close()
        self._events, writing = os.pipe()
        self._buffer = b""
        self._warm = False
        try:
            self._process = _start(writing, self._errors)
        finally:
            os.close(writing)
        sides = SIDES if with_reference else SIDES[:1]
        trees = {side: str(self._folder / side) for side in SIDES}
        self._tell(settings | {"trees": trees, "jailed": jailed, "sides": sides, "events_fd": writing})

    def fileno(self) -> int:
        """Readable once the process is warm, or has ended."""
        return self._events

    def await_warm(self, timeout_s: float) -> bool:
        """Are its jails up and torch imported? False when that takes longer, or it has ended."""
        self._warm = self._warm or self._next(time.monotonic() + timeout_s)["event"] == "warm"
        return self._warm

    @property
    def alive(self) -> bool:
        return self._process.poll() is None

    def run(
        self, tree: Tree, editable: Collection[str], reference: Tree, job: dict[str, Any], timeout_s: float
    ) -> Iterator[Event]:
        """Lay `tree` out as the submission and grade it: the events of one job, the last is `end` or `infra`.

        The paths in `editable` are the learner's: no bytecode is made of them here.
        """
        self._lay_out("submission", tree, editable)
        if reference != self._reference:
            self._lay_out("reference", reference, ())
            self._reference = reference
        self._tell(job)
        deadline = time.monotonic() + timeout_s
        while (event := self._next(deadline))["event"] not in ("end", "infra"):
            if event["event"] != "warm":
                yield event
        yield event

    def _lay_out(self, side: str, tree: Tree, editable: Collection[str]) -> None:
        """Make the folder that a jail shows at /lab hold `tree` and nothing else."""
        folder = self._folder / side
        for entry in folder.iterdir():
            shutil.rmtree(entry) if entry.is_dir() else entry.unlink()
        write_tree(folder, tree)
        _compile(folder, {path: blob for path, blob in tree.items() if path not in editable})

    def _tell(self, message: dict[str, Any]) -> None:
        """A process that is gone is noticed on its events, with what it said last."""
        try:
            self._process.stdin.write(json.dumps(message).encode() + b"\n")
            self._process.stdin.flush()
        except BrokenPipeError:
            pass

    def _next(self, deadline: float) -> Event:
        with selectors.DefaultSelector() as selector:
            selector.register(self._events, selectors.EVENT_READ)
            while b"\n" not in self._buffer:
                if not selector.select(max(0.0, deadline - time.monotonic())):
                    return {"event": "infra", "reason": "the judge ran over its time"}
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
        self._process.stdin.close()
        try:
            self._process.wait(CLOSE_S)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        os.close(self._events)
        self._errors.close()
        self._scratch.close()


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


def _compile(folder: Path, trusted: Tree) -> None:
    """Bytecode for the course's own files, which else each rank would compile for itself; never for the learner's."""
    for path in trusted:
        if path.endswith(".py"):
            py_compile.compile(str(folder / path), invalidation_mode=PycInvalidationMode.UNCHECKED_HASH)


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
