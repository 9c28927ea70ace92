"""The hub's server: keeps spares, and grades each push in a fork of itself, where everything is imported already.

One loop, no threads. A fork is the hook in all but name: it reads the course anew, takes its turn, asks the server
for a spare, and outlives it. A spare is started when no push is being graded, so that it is in nobody's way. Whatever
happens here, the hook grades the push itself.
"""

import contextlib
import fcntl
import json
import os
import select
import signal
import socket
import subprocess
import sys
import time
import traceback
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import BinaryIO

from grading.delivery import hub
from grading.delivery.freshness import engine_changed_since_start, engine_state
from grading.delivery.hook import ANSWER_S, address, peer_uid
from grading.delivery.hub import ERRORS, HubError
from grading.judge.process import Judge
from grading.judge.spares import IN_ALL, Spares, kind_of
from grading.sandbox import jail

IDLE_S = 600.0
LOOK_S = 5.0  # how often it looks whether its socket is still there
MESSAGE_NBYTES = 1 << 16
DONE = b"."


def start(folder: Path, kinds: list[str]) -> None:
    """Start a server for a hub behind everybody's back; one that is up already makes the new one end at once."""
    if sys.platform == "linux":
        null = subprocess.DEVNULL
        streams = {"stdin": null, "stdout": null, "stderr": null}
        subprocess.Popen(command(folder, kinds), env=environment(), cwd=folder, start_new_session=True, **streams)


def command(folder: Path, kinds: list[str]) -> list[str]:
    return [sys.executable, "-I", "-m", "grading.delivery.serve", str(folder), *dict.fromkeys(kinds)]


def environment() -> dict[str, str]:
    """As the hook's: nothing of who started it but where programs and git's configuration are."""
    return {key: os.environ[key] for key in ("PATH", "HOME") if key in os.environ} | {"LANG": "C.UTF-8"}


def serve(folder: Path, kinds: list[str], idle_s: float = IDLE_S) -> None:
    """Serve the hub until nothing is pushed for `idle_s` seconds, the engine changes, or SIGTERM.

    `kinds` are the spares to begin with; without any, those of the first labs. HubError when it cannot be.
    """
    if sys.platform != "linux":
        raise HubError("a hub keeps spares on Linux only; it grades without them")
    os.chdir(folder)
    settings = hub.open_hub(Path.cwd())
    wanted = list(dict.fromkeys(kinds or map(kind_of, settings.course.labs)))[:IN_ALL]
    if settings.jailed:
        jail.status()  # found out once, for all forks
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
    with _alone() as lock, _listening() as listener, contextlib.closing(Spares(settings.jailed)) as spares:
        _Server(lock, listener, spares, wanted, idle_s).run()


@contextlib.contextmanager
def _alone() -> Iterator[BinaryIO]:
    """Hold the hub's one place for a server of this user's.

    The process id is written over the last one's, in one write of fixed width: a reader finds one of them, whole.
    """
    with open(os.open(f"{address()}.lock", os.O_RDWR | os.O_CREAT, 0o600), "r+b", buffering=0) as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            raise HubError(f"{Path.cwd()} has a server already") from None
        lock.write(b"%-10d\n" % os.getpid())
        yield lock


@contextlib.contextmanager
def _listening() -> Iterator[socket.socket]:
    """The socket, for this user alone; one that a killed server left is replaced."""
    path = Path(address())
    path.unlink(missing_ok=True)
    mask = os.umask(0o177)
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(str(path))
        os.umask(mask)
        listener.listen(64)
        try:
            yield listener
        finally:
            path.unlink(missing_ok=True)


@dataclass
class _Push:
    """A push that a fork grades: the hook's line, and the fork's for asking."""

    pid: int
    hook: socket.socket
    asks: socket.socket


@dataclass
class _Server:
    lock: BinaryIO
    listener: socket.socket
    spares: Spares
    wanted: list[str]
    idle_s: float
    pushes: list[_Push] = field(default_factory=list)
    gone: list[subprocess.Popen | None] = field(default_factory=list)

    def run(self) -> None:
        inode, engine, last = os.stat(address()).st_ino, engine_state(), time.monotonic()
        if engine_changed_since_start():
            return
        while True:
            if self._wait():
                last = time.monotonic()
                if engine_state() != engine:
                    return
                self._accept()
            if self.pushes:
                last = time.monotonic()
            elif time.monotonic() - last > self.idle_s or not _is(address(), inode):
                return
            elif self.wanted and not self.spares.warming():
                self.spares.prepare(self.wanted.pop(0))

    def _wait(self) -> bool:
        """One turn: serve the forks; True when a hook calls."""
        poll = select.poll()
        poll.register(self.listener, select.POLLIN)
        for push in self.pushes:
            poll.register(push.asks, select.POLLIN)
            if push.hook.fileno() >= 0:
                poll.register(push.hook, 0)  # a hang-up alone: what it says is the fork's to hear
        ready = {fd for fd, _ in poll.poll(1000 * (1.0 if self.wanted else min(LOOK_S, self.idle_s)))}
        for push in list(self.pushes):
            if {push.asks.fileno(), push.hook.fileno()} & ready:
                self._hear(push, push.hook.fileno() in ready)
        self.gone = [child for child in self.gone if child and child.poll() is None]
        self.spares.bury()
        return self.listener.fileno() in ready

    def _hear(self, push: _Push, hung_up: bool) -> None:
        """A fork asks for a spare, is done, or has ended; when its hook hung up before, nobody wants its verdict."""
        try:
            said = push.asks.recv(MESSAGE_NBYTES, socket.MSG_DONTWAIT)
        except BlockingIOError:
            said = b"-"  # it asks nothing, so it was the hook that hung up
        if said == DONE:
            push.hook.close()
        elif said and not hung_up:
            self._hand_over(push, said.decode())
        else:
            self._bury(push, kill=bool(said))

    def _bury(self, push: _Push, kill: bool) -> None:
        if kill:
            os.kill(push.pid, signal.SIGKILL)
        os.waitpid(push.pid, 0)
        push.hook.close()
        push.asks.close()
        self.pushes.remove(push)

    def _hand_over(self, push: _Push, kind: str) -> None:
        self.wanted.append(kind)  # one for the next, once the verdict is out
        judge = self.spares.take(kind)
        told, fds = judge.hand_over() if judge else (None, [])
        with contextlib.suppress(OSError):
            socket.send_fds(push.asks, [json.dumps(told).encode()], fds)
        if judge:
            self.gone.append(judge.let_go())

    def _accept(self) -> None:
        hook, _ = self.listener.accept()
        hook.settimeout(ANSWER_S)
        fds: list[int] = []
        try:
            if peer_uid(hook) == os.getuid():
                fds = socket.recv_fds(hook, 16, 3)[1]
            if len(fds) == 3:
                return self._fork(hook, fds)
        except OSError:
            pass
        finally:
            for fd in fds:
                os.close(fd)
        hook.close()

    def _fork(self, hook: socket.socket, fds: list[int]) -> None:
        asks, answers = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        pid = os.fork()
        if pid == 0:
            asks.close()
            self._become_hook(hook, fds, answers)
        answers.close()
        self.pushes.append(_Push(pid, hook, asks))

    def _become_hook(self, hook: socket.socket, fds: list[int], server: socket.socket) -> None:
        """In the fork: close what is the server's, agree with the hook, then be it."""
        code = 1
        try:
            os.setsid()
            signal.signal(signal.SIGTERM, signal.SIG_DFL)
            self.lock.close()
            self.listener.close()
            self.spares.let_go()
            for push in self.pushes:
                push.hook.close()
                push.asks.close()
            hook.sendall(b"+")
            if hook.recv(1) == b"!":
                _receive(hook, fds, server)
                code = 0
        except Exception:
            with contextlib.suppress(OSError), open(ERRORS, "a") as log:
                traceback.print_exc(file=log)
        finally:
            os._exit(code)


def _receive(hook: socket.socket, fds: list[int], server: socket.socket) -> None:
    taken: list[Judge] = []

    def take(kind: str) -> Judge | None:
        with contextlib.suppress(OSError, ValueError):
            server.sendall(kind.encode())
            message, given, _, _ = socket.recv_fds(server, MESSAGE_NBYTES, 4)
            told = json.loads(message)
            taken.extend([Judge.adopt(told, given)] if told else [])
            return taken[-1] if told else None
        return None

    source, sink, learner = (os.fdopen(os.dup(fd), mode) for fd, mode in zip(fds, ("rb", "wb", "w"), strict=True))
    hub.receive(Path.cwd(), source, sink, learner, take=take)
    for stream in (sink, learner):
        stream.close()
    with contextlib.suppress(OSError):
        server.sendall(DONE)
    hook.sendall(DONE)
    for judge in taken:
        judge.close()


def _is(path: str, inode: int) -> bool:
    try:
        return os.stat(path).st_ino == inode
    except OSError:
        return False


if __name__ == "__main__":
    try:
        serve(Path(sys.argv[1]), sys.argv[2:])
    except HubError as error:
        sys.exit(f"labs: {error}")
    except KeyboardInterrupt:
        sys.exit(130)
