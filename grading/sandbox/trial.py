"""A jail in which to try things: each attempt is a piece of Python run in a forked child, as a rank would be.

`labs doctor` and the tests prove the jail's protections with it; learners' code never comes here.
"""

from __future__ import annotations

import json
import signal
import socket
from dataclasses import dataclass
from pathlib import Path
from types import SimpleNamespace, TracebackType

from grading.sandbox import jail as jails
from grading.sandbox.jail import Jail, JailError, JailSpec
from grading.sandbox.scratch import Scratch

TMP_MB, SHM_MB = 4, 2
ATTEMPT_S = 20.0
DEAD_WITHIN_S = 3.0

PROGRAM = """
import json, os, socket
from grading.sandbox.confine import confine
lines = socket.socket(fileno={fd}).makefile("rwb")
confine(**json.loads(lines.readline()))
for line in lines:
    reading, writing = os.pipe()
    pid = os.fork()
    if pid == 0:
        names, child = {{}}, os.getpid()
        try:
            exec(json.loads(line), names)
            answer = names.get("answer")
        except BaseException as error:
            answer = f"{{type(error).__name__}}: {{error}}"
        if os.getpid() == child:  # and not one of its own forks
            os.write(writing, json.dumps(answer).encode())
        os._exit(0)
    os.close(writing)
    status = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
    os.set_blocking(reading, False)  # what the child forked may hold the other end for ever
    answer = os.read(reading, 65536) if status == 0 else b""
    os.close(reading)
    lines.write(json.dumps([answer.decode(), status]).encode() + b"\\n")
    lines.flush()
"""


@dataclass(frozen=True)
class Killed:
    """The child ended without an answer."""

    signal: str


class Trial:
    """`with Trial(memory_mb=256) as trial: trial.attempt("answer = 1")`. Raises JailError where no jail is possible."""

    def __init__(
        self, memory_mb: int = 512, tmp_mb: int = TMP_MB, shm_mb: int = SHM_MB, files: bool = True, jailed: bool = True
    ):
        self._jailed = jailed
        self._tree = Scratch()
        self.tree = self._tree.path
        limits = SimpleNamespace(ranks=1, memory_mb=memory_mb, tmp_mb=tmp_mb, shm_mb=shm_mb)
        self.spec = JailSpec(self.tree, Path(__file__).parents[1], [], limits, files)
        self.jail: Jail

    def __enter__(self) -> Trial:
        self.tree.chmod(0o755)
        self._control, theirs = socket.socketpair()
        with theirs:
            self.jail = jails._start(self.spec, theirs.fileno(), self._jailed, PROGRAM.format(fd=theirs.fileno()))
        self._control.settimeout(ATTEMPT_S)
        self._lines = self._control.makefile("rwb")
        self._send(self.jail.confinement)
        return self

    def __exit__(self, kind: type | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.jail.kill()
        self._control.close()
        self._tree.close()

    def attempt(self, source: str) -> object:
        """What `source` left in the name `answer` (JSON), "Type: message" of its exception, or Killed.

        Raises JailError when the jail itself is gone or silent: an attempt got the better of PID 1.
        """
        try:
            self._send(source)
            line = self._lines.readline()
        except OSError as error:
            raise JailError(f"the jail does not answer: {error}") from None
        if not line:
            raise JailError(f"the jail has ended: {self.jail.stderr_tail()[-200:]}")
        answer, status = json.loads(line)
        return (
            json.loads(answer) if answer else Killed(signal.Signals(-status).name if status < 0 else f"exit {status}")
        )

    def begin(self, source: str) -> None:
        """As attempt, but nobody waits for the answer."""
        self._send(source)

    def all_dead(self) -> bool:
        """After jail.kill(): whether every process that ever inherited the jail's end of the line has gone."""
        try:
            self._control.settimeout(DEAD_WITHIN_S)
            return self._control.recv(1) == b""
        except ConnectionResetError:  # they died with something of ours unread
            return True
        except OSError:
            return False

    def _send(self, value: object) -> None:
        self._lines.write(json.dumps(value).encode() + b"\n")
        self._lines.flush()
