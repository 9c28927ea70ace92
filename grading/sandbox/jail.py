"""Start the zygote where the learner's code can do no harm: bubblewrap's namespaces, limits of the whole, one way out.

Two orders of the same jail. As root: no user namespace; bwrap makes the mounts as real root and the zygote drops its
uid first thing (confine.py). As an ordinary user: a user namespace that allows no further one. Left open, knowingly:
bwrap 0.8 cannot mount a tmpfs noexec or bound its inodes. With `files: none` a rank's files have no size, so there is
nothing to run; with `files: shared` it may run what it wrote, which gives it no more than Python already does. Empty
files are bounded by the memory group and the deadline only.
"""

from __future__ import annotations

import contextlib
import functools
import json
import os
import select
import shutil
import signal
import socket
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from types import SimpleNamespace

from grading.sandbox import binds
from grading.sandbox.cgroup import Group, make_group
from grading.sandbox.remedies import fix_for
from grading.sandbox.scratch import Scratch
from grading.sandbox.seccomp import NoSeccomp, filter_program
from grading.sandbox.slots import NoSlot, Slot, take_slot
from grading.sandbox.spec import ENVIRONMENT, JailSpec, arguments, processes, rlimits

PYTHON_FLAGS = ("-P", "-s", "-S", "-B")  # as -I, but the hash seed of the environment (which is ours alone) counts
STDERR_CAP = 64 << 10
GONE_WITHIN_S = 2.0


class JailError(RuntimeError):
    """The jail did not start: our fault, never the learner's (INFRA). The message is one line."""


@dataclass(frozen=True)
class JailStatus:
    ok: bool
    kind: str  # "root", "user" or ""
    reason: str
    fix: str


@dataclass
class Jail:
    """A running zygote. `lab` and `tmp` are the paths under which it sees the tree and its scratch folder."""

    process: subprocess.Popen
    pid1: int
    uid: int | None
    confinement: dict
    lab: str = binds.LAB
    tmp: str = "/tmp"
    recipes: tuple[dict[str, str], ...] = ()  # paths as the zygote sees them
    _slot: Slot | None = None
    _group: Group | None = None
    _scratch: Scratch | None = None
    _pidfd: int | None = None
    _stderr: bytes = b""
    _kills: int = 0

    def kill(self) -> None:
        """SIGKILL everything inside, reap it, free uid and control group; a second call does nothing."""
        if self.process.stderr.closed:
            return
        self.memory_kills()
        self._signal()
        self._reap()
        self.stderr_tail()
        self.process.stderr.close()
        if self._group:
            self._group.remove()
        if self._slot:
            self._slot.release()
        if self._scratch:
            self._scratch.close()

    def memory_kills(self) -> int:
        """How many processes the memory limit of the whole jail has killed so far; remembered when it is gone."""
        if self._group and not self.process.stderr.closed:
            self._kills = self._group.memory_kills()
        return self._kills

    def oom(self) -> bool:
        """Whether the memory limit of the whole jail has killed a process in it."""
        return self.memory_kills() > 0

    def loopback_bytes(self) -> int | None:
        """Bytes received on the jail's own loopback since its start, read from outside; None without a jail."""
        if self._slot is None:
            return None
        with contextlib.suppress(OSError):
            for line in Path(f"/proc/{self.pid1}/net/dev").read_text().splitlines():
                name, _, counters = line.partition(":")
                if name.strip() == "lo":
                    return int(counters.split()[0])
        return None

    def stderr_tail(self) -> str:
        """The last 64 KiB that the zygote (or bwrap) wrote to stderr so far."""
        if not self.process.stderr.closed:
            with contextlib.suppress(BlockingIOError):
                while chunk := os.read(self.process.stderr.fileno(), STDERR_CAP):
                    self._stderr = (self._stderr + chunk)[-STDERR_CAP:]
        return self._stderr.decode(errors="replace")

    def _signal(self) -> None:
        """PID 1 of a namespace takes all others along; bwrap then ends by itself, after the last of them."""
        with contextlib.suppress(OSError):
            if self._pidfd is not None:
                signal.pidfd_send_signal(self._pidfd, signal.SIGKILL)
            else:
                os.killpg(self.process.pid, signal.SIGKILL)

    def _reap(self) -> None:
        if self._pidfd is not None:
            with contextlib.suppress(OSError):  # a descriptor wakes us at once; Popen.wait(timeout) only polls
                bwrap = os.pidfd_open(self.process.pid)
                select.select([bwrap], [], [], GONE_WITHIN_S)
                os.close(bwrap)
            os.close(self._pidfd)
        try:
            self.process.wait(GONE_WITHIN_S)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()


def start(spec: JailSpec, control_fd: int, jailed: bool = True) -> Jail:
    """Start the zygote with `control_fd` as its one way out; it is to call confine(**jail.confinement) first.

    The kernel ends the jail when the *thread* that called this ends, not only when its process does. Raises JailError.
    """
    return _start(spec, control_fd, jailed, _program(control_fd))


def _program(control_fd: int) -> str:
    return f"from grading.sandbox.zygote import main; main({control_fd})"


def _start(spec: JailSpec, control_fd: int, jailed: bool, program: str) -> Jail:
    if not jailed:
        return _start_plain(spec, control_fd, program)
    if not spec.tree.is_dir():
        raise JailError(f"no folder {spec.tree} to show at /lab")
    try:
        slot = take_slot()
    except (NoSlot, OSError) as error:
        raise JailError(str(error)) from None
    try:
        return _start_jailed(spec, control_fd, program, slot)
    except (NoSeccomp, OSError, binds.MissingPackage) as error:
        slot.release()
        raise JailError(str(error)) from None
    except JailError:
        slot.release()
        raise


def _start_jailed(spec: JailSpec, control_fd: int, program: str, slot: Slot) -> Jail:
    bwrap = shutil.which("bwrap")
    if bwrap is None:
        raise JailError("bubblewrap is not installed: apt-get install bubblewrap")
    with contextlib.ExitStack() as stack:
        info, info_inside = _pipe(stack)
        block_inside, block = _pipe(stack)
        seccomp = _memory_file(stack, filter_program())
        # what bwrap is told travels by descriptor: no process list shows it
        options = ["--seccomp", seccomp, "--info-fd", info_inside, "--block-fd", block_inside, *arguments(spec)]
        told = _memory_file(stack, b"".join(str(option).encode() + b"\0" for option in options))
        command = [bwrap, "--args", str(told), binds.jail_python(), *PYTHON_FLAGS, "-c"]
        command.append(_with_path([binds.ENGINE, binds.SITE], program))
        process = _popen(command, {}, "/", (told, seccomp, info_inside, block_inside, control_fd))
        os.dup2(seccomp, info_inside)  # our copy of the writing end is gone: bwrap's death ends the reading
        try:
            return _admit(spec, slot, process, info, block)
        except BaseException:
            process.kill()
            process.wait()
            raise


def _admit(spec: JailSpec, slot: Slot, process: subprocess.Popen, info: int, block: int) -> Jail:
    """bwrap waits, its child made but nothing run, until both are in the control group."""
    pid1 = _child_pid(info)
    as_root = os.geteuid() == 0
    uid = slot.uid if as_root else None
    recipes = tuple(recipe.places(jailed=True) for recipe in spec.recipes)
    confinement = {"uid": uid, "rlimits": rlimits(spec)}
    jail = Jail(process, pid1 or process.pid, uid, confinement, recipes=recipes, _slot=slot)
    if pid1 is None:
        jail.kill()
        raise JailError(jail.stderr_tail().strip().split("\n")[-1] or f"bwrap ended with {process.returncode}")
    jail._pidfd = os.pidfd_open(pid1)
    jail._group = make_group(slot, spec.limits.memory_mb, processes(spec))
    if jail._group and not jail._group.add(process.pid, pid1):
        jail._group = None
    os.write(block, b"1")
    return jail


def _start_plain(spec: JailSpec, control_fd: int, program: str) -> Jail:
    """The same zygote as a plain process: same Python path, same environment, nothing held back."""
    scratch = Scratch()
    folder = str(scratch.path)
    engine = Path(folder, "engine/grading")
    for name in binds.engine_files(spec.engine):  # copies, lest the repository's root come onto the path with them
        (engine / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(spec.engine / name, engine / name)
    sites = dict.fromkeys(str(entry.parent) for entry in binds.package_entries(spec.packages))
    command = [sys.executable, *PYTHON_FLAGS, "-c", _with_path([str(engine.parent), *sites], program)]
    process = _popen(command, {**ENVIRONMENT, "HOME": folder, **spec.env}, folder, (control_fd,))
    confinement = {"uid": None, "rlimits": {"core": 0}}
    recipes = tuple(recipe.places(jailed=False) for recipe in spec.recipes)
    seen = {"lab": str(spec.tree), "tmp": folder, "recipes": recipes}
    return Jail(process, process.pid, None, confinement, _scratch=scratch, **seen)


def _popen(command: list[str], env: dict[str, str], cwd: str, descriptors: tuple[int, ...]) -> subprocess.Popen:
    """Own session (Ctrl-C is the judge's to handle); stderr is a pipe that drops what nobody reads, never blocks."""
    null = subprocess.DEVNULL
    reading, writing = os.pipe()
    os.set_blocking(writing, False)
    try:
        process = subprocess.Popen(
            *(command,), stdin=null, stdout=null, stderr=writing, env=env, cwd=cwd, pass_fds=descriptors,
            start_new_session=True, umask=0o022,
        )  # fmt: skip
    finally:
        os.close(writing)
    os.set_blocking(reading, False)
    process.stderr = os.fdopen(reading, "rb", buffering=0)
    return process


def _with_path(path: list[str], program: str) -> str:
    return f"import sys; sys.path[:0] = {path!r}; {program}"


def _child_pid(info: int) -> int | None:
    """From bwrap's JSON; None when bwrap ended without making a child."""
    text = b""
    while b"}" not in text and (chunk := os.read(info, 4096)):
        text += chunk
    _, found, rest = text.partition(b'"child-pid":')
    return int(rest.split(b",")[0].strip(b" \n}")) if found else None


def _pipe(stack: contextlib.ExitStack) -> tuple[int, int]:
    """Both ends, closed with the stack."""
    ends = os.pipe()
    for end in ends:
        stack.callback(os.close, end)
    return ends


def _memory_file(stack: contextlib.ExitStack, content: bytes) -> int:
    descriptor = os.memfd_create("jail", 0)
    stack.callback(os.close, descriptor)
    os.write(descriptor, content)
    os.lseek(descriptor, 0, os.SEEK_SET)
    return descriptor


@functools.cache
def status() -> JailStatus:
    """Whether this machine can jail, found by running a jail that does nothing but drop its rights."""
    kind = "root" if os.geteuid() == 0 else "user"
    if sys.platform != "linux":
        return JailStatus(False, "", f"no bubblewrap on {sys.platform}", "grade on Linux, in WSL 2 or in a container")
    try:
        answer = _try_jail()
    except JailError as error:
        return JailStatus(False, "", str(error), fix_for(str(error)))
    if answer != b"confined":
        return JailStatus(False, "", answer.decode(errors="replace").strip().split("\n")[-1], fix_for(answer.decode()))
    return JailStatus(True, kind, "", "")


def _try_jail() -> bytes:
    """b"confined", or what the jail said instead."""
    program = (
        "import json, os, socket; from grading.sandbox.confine import confine; s = socket.socket(fileno={fd}); "
        "confine(**json.loads(s.recv(4096))); s.send(b'confined')"
    )
    ours, theirs = socket.socketpair()
    limits = SimpleNamespace(ranks=1, memory_mb=512, tmp_mb=1, shm_mb=1)
    with ours, theirs, Scratch() as tree:
        tree.chmod(0o755)
        spec = JailSpec(tree, Path(__file__).parents[1], [], limits, files=False)
        jail = _start(spec, theirs.fileno(), True, program.format(fd=theirs.fileno()))
        theirs.close()
        try:
            ours.settimeout(20)
            ours.send(json.dumps(jail.confinement).encode())
            return ours.recv(64) or jail.stderr_tail().encode() or b"the jail ended without a word"
        except OSError as error:
            return jail.stderr_tail().encode() or str(error).encode()
        finally:
            jail.kill()
