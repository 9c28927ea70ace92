"""The zygote: torch imported once, then a fork for each rank of each probe. It is PID 1 of the jail.

It never imports a learner's file, never reads a byte that a rank wrote, starts no thread and handles no signal:
the judge hands it descriptors, it forks ranks onto them, and at the end of a probe it kills whatever is left.
"""

import contextlib
import importlib
import json
import os
import select
import signal
import socket
import stat
import sys
from dataclasses import dataclass, field
from typing import Any

from grading.sandbox.confine import confine
from grading.sandbox.forking import prepare_to_fork
from grading.sandbox.ranks import Channels, World, receive_message, run, send_message

CHANNELS = 4
POLL_S = 0.005
COLLECT_NBYTES = 16 << 20
COLLECT_FILES = 1000


def main(control_fd: int) -> None:
    """Configure, warm up, say ready, serve until the judge hangs up."""
    control = socket.socket(fileno=control_fd)
    config = json.loads(receive_message(control)[0])
    confine(**config["confinement"])
    recorder = _warm_up(config["preload"], config["recipes"])
    _tell(control, ready=True)
    with contextlib.suppress(EOFError, ConnectionError):
        _Zygote(control, config, recorder).serve()
    os._exit(0)


def _warm_up(preload: list[str], recipes: list[dict[str, str]]) -> Any:
    """Everything a rank would otherwise import for itself."""
    import safetensors.torch  # noqa: F401
    import torch

    from grading.sandbox import record

    torch.set_num_threads(1)
    for name in preload:
        importlib.import_module(name)
    for recipe in recipes:
        _load_upstream(**recipe)
    prepare_to_fork()
    return record.install()


def _load_upstream(program: str, snapshot: str, packages: str = "") -> None:
    """Run the recipe of a Mainline seal: a program of the course's, that loads upstream."""
    sys.path += [snapshot, *([packages] if packages else [])]
    with open(program, encoding="utf-8") as file:
        exec(compile(file.read(), program, "exec"), {"__name__": "recipe", "snapshot": snapshot})


def _tell(control: socket.socket, **message: Any) -> None:
    send_message(control, json.dumps(message).encode())


@dataclass
class _Brood:
    """The ranks of the request under way."""

    pids: dict[int, int] = field(default_factory=dict)
    exits: dict[int, int] = field(default_factory=dict)


class _Zygote:
    def __init__(self, control: socket.socket, config: dict[str, Any], recorder: Any):
        self.control = control
        self.config = config
        self.recorder = recorder
        self.brood = _Brood()
        self.scratch: str = config["scratch"]
        self.kept: set[str] = set()

    def serve(self) -> None:
        while True:
            busy = bool(self.brood.pids)
            readable, _, _ = select.select([self.control], [], [], POLL_S if busy else None)
            if readable:
                text, fds = receive_message(self.control)
                message = json.loads(text)
                getattr(self, "on_" + message.pop("op"))(fds, **message)
            self._reap()

    def on_run(self, fds: list[int], ranks: int, group: bool, env: dict[str, str] | None, timeout_s: float) -> None:
        """Fork `ranks` ranks, rank r onto the r-th four descriptors."""
        listener = _listener() if ranks > 1 or not group else None
        port = listener.getsockname()[1] if listener else 0
        for rank in range(ranks):
            mine = fds[rank * CHANNELS : (rank + 1) * CHANNELS]
            listen_fd = listener.fileno() if listener and rank == 0 else None
            world = World(rank, ranks, group, port, listen_fd, timeout_s=timeout_s, **self._surroundings())
            pid = os.fork()
            if pid == 0:
                self._become(world, mine, fds, env)
            self.brood.pids[pid] = rank
        for fd in [*fds, *([listener.detach()] if listener else [])]:
            os.close(fd)

    def _surroundings(self) -> dict[str, Any]:
        return {key: self.config[key] for key in ("tree", "files", "frame_nbytes")}

    def _become(self, world: World, mine: list[int], fds: list[int], env: dict[str, str] | None) -> None:
        """In the child: drop every descriptor that belongs to others, then live as a rank."""
        try:
            if os.getpid() != 1:
                os.setpgid(0, 0)
            self.control.close()
            for fd in set(fds) - set(mine):
                os.close(fd)
            if env is None:
                run(world, Channels(*mine), self.recorder)
            else:
                _execute(world, mine, env)
        finally:
            os._exit(70)

    def on_stacks(self, fds: list[int]) -> None:
        for pid in self.brood.pids:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGUSR1)

    def on_end(self, fds: list[int]) -> None:
        """Kill the ranks and everything they started, clean up after them, report how each rank ended."""
        _kill_all(list(self.brood.pids))
        self._reap(flags=0)
        exits, self.brood = self.brood.exits, _Brood()
        self._sweep()
        _tell(self.control, ended={str(rank): status for rank, status in exits.items()})

    def _reap(self, flags: int = os.WNOHANG) -> None:
        """Collect the dead: ranks are reported, orphans only buried. With flags=0 until no child is left."""
        while True:
            try:
                pid, status = os.waitpid(-1, flags)
            except ChildProcessError:
                return
            if pid == 0:
                return
            if (rank := self.brood.pids.pop(pid, None)) is not None:
                self.brood.exits[rank] = os.waitstatus_to_exitcode(status)
                _tell(self.control, exited=rank, code=self.brood.exits[rank])

    def _sweep(self) -> None:
        """Nothing that one probe wrote is there for the next, but for the folders a test keeps."""
        for root in {self.scratch, "/dev/shm"} if os.getpid() == 1 else {self.scratch}:
            for entry in os.scandir(root):
                if entry.path not in self.kept:
                    _remove(entry.path)

    def on_keep(self, fds: list[int], name: str) -> None:
        path = os.path.join(self.scratch, name)
        os.mkdir(path, 0o700)
        self.kept.add(path)
        _tell(self.control, folder=path)

    def on_drop(self, fds: list[int], path: str) -> None:
        self.kept.discard(path)
        _remove(path)
        _tell(self.control, dropped=path)

    def on_collect(self, fds: list[int], path: str) -> None:
        """Write the folder's plain files as one frame to the descriptor; links, pipes and devices are passed over."""
        import torch

        from grading.sandbox.wire import encode

        files = [[name, torch.tensor(bytearray(data), dtype=torch.uint8)] for name, data in _plain_files(path)]
        with os.fdopen(fds[0], "wb") as out:
            out.write(encode(files))


def _listener() -> socket.socket:
    listener = socket.socket()
    listener.bind(("127.0.0.1", 0))
    listener.listen(64)
    return listener


def _execute(world: World, mine: list[int], env: dict[str, str]) -> None:
    """A fresh interpreter instead of the fork, for what is read before Python starts."""
    for fd in [*mine, *([world.listen_fd] if world.listen_fd is not None else [])]:
        os.set_inheritable(fd, True)
    program = f"import sys; sys.path[:] = {sys.path!r}; from grading.sandbox.zygote import reborn; reborn()"
    argument = json.dumps([vars(world), mine])
    os.execve(sys.executable, [sys.executable, "-P", "-s", "-S", "-B", "-c", program, argument], {**os.environ, **env})


def reborn() -> None:
    """Entry of the fresh interpreter that `_execute` starts."""
    world, mine = json.loads(sys.argv[1])
    run(World(**world), Channels(*mine), _warm_up([], []))


def _kill_all(ranks: list[int]) -> None:
    """As PID 1 of the jail: every other process of it. Without a jail: each rank's process group, no more."""
    if os.getpid() == 1:
        with contextlib.suppress(ProcessLookupError):
            os.kill(-1, signal.SIGKILL)
        return
    for pid in ranks:
        for kill in (os.killpg, os.kill):
            with contextlib.suppress(ProcessLookupError, PermissionError):
                kill(pid, signal.SIGKILL)


def _remove(path: str) -> None:
    """Remove what a learner may have made unreadable; what cannot be removed stays until the jail ends.

    A folder in a folder is moved up beside it first: neither a path nor a stack reaches the bottom of what a loop of
    mkdir and chdir makes.
    """
    left = [path]
    while left:
        entry = left.pop()
        with contextlib.suppress(OSError):
            if not stat.S_ISDIR(os.lstat(entry).st_mode):
                os.unlink(entry)
                continue
            os.chmod(entry, 0o700)
            left += [_moved_beside(path, inner) for inner in os.scandir(entry) if not _unlinked(inner)]
            os.rmdir(entry)


def _unlinked(entry: os.DirEntry) -> bool:
    """False for a folder."""
    if entry.is_dir(follow_symlinks=False):
        return False
    os.unlink(entry.path)
    return True


def _moved_beside(path: str, folder: os.DirEntry) -> str:
    os.chmod(folder.path, 0o700)  # its link to the folder above it is rewritten
    place = os.path.join(os.path.dirname(path), f"removed-{os.urandom(8).hex()}")
    os.rename(folder.path, place)
    return place


def _plain_files(folder: str) -> list[tuple[str, bytes]]:
    found, left = [], COLLECT_NBYTES
    for entry in sorted(os.scandir(folder), key=lambda entry: entry.name):
        if not entry.is_file(follow_symlinks=False):
            continue
        with contextlib.suppress(OSError):
            fd = os.open(entry.path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
            with os.fdopen(fd, "rb") as file:
                data = file.read(left + 1)
            if len(data) > left or len(found) == COLLECT_FILES:
                break
            left -= len(data)
            found.append((entry.name, data))
    return found
