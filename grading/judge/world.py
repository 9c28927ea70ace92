"""The judge's end of a jail: send inputs, collect answers under a deadline, believe nothing but values.

One `World` is one request to the zygote: `ranks` forked processes that answer case by case. The ranks of one world
are one adversary: whatever one of them does wrong is charged to the request, and the next world starts clean.
"""

import json
import os
import selectors
import signal
import socket
import time
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

from grading.course.catalog import Limits
from grading.judge.errors import InfraError
from grading.sandbox.jail import Jail, JailError, JailSpec, start
from grading.sandbox.ranks import receive_message, send_message
from grading.sandbox.wire import MIB, FrameReader, WireError, WireLimits, encode

START_S = 20.0  # fork and group: the engine's own work, never the learner's
GRACE_S = 1.0  # for the peers of a rank that has failed
END_S = 5.0  # for the zygote to bury a world
OUTPUT_NBYTES = 64 << 10
EVENTS_NBYTES = 8 << 20
STACKS_NBYTES = 256 << 10
READ_NBYTES = 1 << 18


@dataclass
class Answer:
    """What one rank sent for one case: exactly one of the fields is set; none means that it never answered."""

    value: Any = None
    error: dict[str, Any] | None = None
    refused: str | None = None
    arrived: bool = False


@dataclass
class Rank:
    """Everything the judge holds of one rank."""

    number: int
    channel: socket.socket
    events_fd: int
    stacks_fd: int
    output_fd: int
    reader: FrameReader
    answers: list[Answer] = field(default_factory=list)
    inbox: list[Any] = field(default_factory=list)
    outbox: bytes = b""
    events: bytearray = field(default_factory=bytearray)
    stacks: bytearray = field(default_factory=bytearray)
    output: bytearray = field(default_factory=bytearray)
    exit_code: int | None = None
    closed: bool = False
    tamper: str = ""


@dataclass(frozen=True)
class Request:
    """One world: `cases[i][r]` are the inputs of rank r in case i."""

    probe: str
    ranks: int
    cases: list[list[dict[str, Any]]]
    group: bool = True
    env: dict[str, str] | None = None
    may_die: frozenset[int] = frozenset()
    errors: bool = False
    timed: bool = False


@dataclass
class Outcome:
    """What became of a request. `timeout` and `tamper` name a rank; -1 means none."""

    ranks: list[Rank]
    timeout: bool = False
    oom: bool = False
    wire_nbytes: int | None = None

    @property
    def tamper(self) -> str:
        return next((rank.tamper for rank in self.ranks if rank.tamper), "")


class Sandbox:
    """A zygote in its jail, serving one grading. Raises InfraError when the engine's own side breaks."""

    def __init__(self, spec: JailSpec, preload: list[str], jailed: bool):
        self.limits: Limits = spec.limits
        self.control, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_STREAM)
        with theirs:
            try:
                self.jail: Jail = start(spec, theirs.fileno(), jailed=jailed)
            except JailError as error:
                raise InfraError(f"the jail did not start: {error}") from None
        self.tree = self.jail.lab
        self._configure(spec, preload)
        self._ready = False
        self._request = 0

    def _configure(self, spec: JailSpec, preload: list[str]) -> None:
        config = {"confinement": self.jail.confinement, "preload": preload}
        config |= {"tree": self.tree, "scratch": self.jail.tmp}
        config |= {"files": spec.files, "frame_nbytes": self.limits.frame_mb * MIB}
        self._tell(**config)

    def _tell(self, fds: list[int] | None = None, **message: Any) -> None:
        try:
            send_message(self.control, json.dumps(message).encode(), fds)
        except OSError as error:
            raise InfraError(f"the sandbox is gone ({error}). {self.jail.stderr_tail()}") from None

    def _hear(self, timeout_s: float) -> dict[str, Any]:
        self.control.settimeout(timeout_s)
        try:
            return json.loads(receive_message(self.control)[0])
        except TimeoutError:
            raise InfraError(f"the sandbox did not answer within {timeout_s:.0f} s") from None
        except (EOFError, OSError):
            raise InfraError(f"the sandbox ended unasked. {self.jail.stderr_tail()}") from None

    def wait_ready(self) -> None:
        if not self._ready:
            self._hear(timeout_s=120)
            self._ready = True

    def ask(self, request: Request) -> Outcome:
        """Run one world to its end; nothing of it is left when this returns."""
        self.wait_ready()
        before = self.jail.loopback_bytes()
        ranks = self._fork(request)
        world = _World(self, request, ranks)
        try:
            timeout = not world.play()
        finally:
            self._bury(ranks)
        after = self.jail.loopback_bytes()
        seen = None if before is None or after is None else after - before
        return Outcome(ranks, timeout, self.jail.oom(), seen)

    def timed(self, request: Request) -> "TimedWorld":
        """A world of one rank that has warmed up and waits for its first repetition."""
        self.wait_ready()
        ranks = self._fork(request)
        return TimedWorld(self, request, ranks)

    def _fork(self, request: Request) -> list[Rank]:
        ranks, theirs = [], []
        for number in range(request.ranks):
            rank, fds = _open_rank(number, self.limits.frame_mb * MIB)
            ranks.append(rank)
            theirs += fds
        message = {"ranks": request.ranks, "group": request.group, "env": request.env, "timeout_s": 600.0}
        try:
            self._tell(theirs, op="run", **message)
        finally:
            for fd in theirs:
                os.close(fd)
        return ranks

    def _bury(self, ranks: list[Rank]) -> None:
        """End the world: the zygote kills it, then what is still in the pipes is read and judged."""
        try:
            self._tell(op="end")
            while "ended" not in (message := self._hear(END_S)):
                pass
            for rank in ranks:
                rank.exit_code = message["ended"].get(str(rank.number), rank.exit_code)
                _drain(rank)
        finally:
            for rank in ranks:
                _close_rank(rank)

    def keep_folder(self, name: str) -> str:
        self.wait_ready()
        self._tell(op="keep", name=name)
        return self._hear(END_S)["folder"]

    def drop_folder(self, path: str) -> None:
        self._tell(op="drop", path=path)
        self._hear(END_S)

    def collect(self, path: str) -> dict[str, bytes]:
        """The plain files of a kept folder, read after the ranks are dead."""
        read_fd, write_fd = os.pipe()
        self._tell([write_fd], op="collect", path=path)
        os.close(write_fd)
        with os.fdopen(read_fd, "rb") as pipe:
            (files,) = FrameReader(WireLimits(frame_nbytes=self.limits.frame_mb * MIB)).feed(pipe.read())
        return {name: bytes(data.numpy()) for name, data in files.items()}

    def next_id(self) -> int:
        self._request += 1
        return self._request

    def close(self) -> None:
        self.control.close()
        self.jail.kill()


class _World:
    """The selector loop of one request: feeds inputs, reads the four channels of each rank, keeps the deadline."""

    def __init__(self, sandbox: Sandbox, request: Request, ranks: list[Rank]):
        self.sandbox, self.request, self.ranks = sandbox, request, ranks
        self.selector = selectors.DefaultSelector()
        self.selector.register(sandbox.control, selectors.EVENT_READ, None)
        for rank in ranks:
            rank.channel.setblocking(False)
            for source in (rank.channel, rank.events_fd, rank.stacks_fd, rank.output_fd):
                self.selector.register(source, selectors.EVENT_READ, rank)

    def play(self) -> bool:
        """Every case, one after another; False when a deadline passed. Stops at the first failure."""
        try:
            self._await_hello()
            for index, inputs in enumerate(self.request.cases):
                ids = self._send_case(index, inputs)
                if not self._await_answers(ids):
                    return False
                if self._broken(index):
                    return True
            return True
        finally:
            self.selector.close()

    def _await_hello(self) -> None:
        """Wait until every rank has joined its world: the engine's own start, before any learner's line has run."""
        deadline = time.monotonic() + START_S
        while any(not rank.inbox for rank in self.ranks):
            if any(rank.closed for rank in self.ranks) or not self._turn(deadline):
                output = b" ".join(bytes(rank.output[-400:]) for rank in self.ranks).decode(errors="replace")
                raise InfraError(f"a world of {len(self.ranks)} ranks did not start. {output}")
        for rank in self.ranks:
            rank.inbox.clear()

    def _send_case(self, index: int, inputs: list[dict[str, Any]]) -> dict[int, int]:
        ids = {}
        for rank, given in zip(self.ranks, inputs, strict=True):
            ids[rank.number] = self.sandbox.next_id()
            message = {"id": ids[rank.number], "case": index, "probe": self.request.probe, "inputs": given}
            rank.outbox = encode(message | {"timed": self.request.timed})
            rank.answers.append(Answer())
            if not rank.closed:
                self.selector.modify(rank.channel, selectors.EVENT_READ | selectors.EVENT_WRITE, rank)
        return ids

    def _await_answers(self, ids: dict[int, int]) -> bool:
        deadline = time.monotonic() + self.sandbox.limits.probe_s
        hurried = False
        while True:
            settled = [self._settled(rank, ids) for rank in self.ranks]
            if all(settled):
                return True
            if not hurried and any(self._failed(rank) for rank in self.ranks):
                deadline, hurried = min(deadline, time.monotonic() + GRACE_S), True
            if not self._turn(deadline):
                self._dump_stacks()
                return hurried  # a peer failed and these waited for it: that failure is the verdict, not their wait

    def _settled(self, rank: Rank, ids: dict[int, int]) -> bool:
        """Has this rank answered the case, died, or broken the protocol?"""
        if rank.inbox and not rank.answers[-1].arrived:
            _accept(rank, rank.inbox.pop(0), ids[rank.number])
        if rank.inbox and not rank.tamper:
            rank.tamper = f"rank {rank.number} answered one request twice"
        return rank.answers[-1].arrived or rank.closed or bool(rank.tamper)

    def _failed(self, rank: Rank) -> bool:
        """Nothing good can come of the case any more: its peers get a moment, not the whole deadline."""
        answer = rank.answers[-1]
        died = rank.closed and not answer.arrived and rank.number not in self.request.may_die
        return died or bool(rank.tamper) or bool(answer.refused) or answer.error is not None

    def _broken(self, index: int) -> bool:
        """Stop after this case? An error that the test asked for stops nothing when every rank came back from it."""
        answers = [rank.answers[index] for rank in self.ranks]
        if any(rank.tamper or rank.closed for rank in self.ranks) or any(a.refused for a in answers):
            return True
        return any(a.error for a in answers) and not self.request.errors

    def _dump_stacks(self) -> None:
        """Ask for each rank's Python stack; it is a courtesy, so half a second is all it gets."""
        self.sandbox._tell(op="stacks")
        deadline = time.monotonic() + 0.5
        alive = [rank for rank in self.ranks if not rank.closed]
        while any(b"\n" not in rank.stacks for rank in alive) and self._turn(deadline):
            pass
        deadline = time.monotonic() + 0.05
        while self._turn(deadline):
            pass

    def _turn(self, deadline: float) -> bool:
        """One wait on the selector; False once the deadline has passed."""
        left = deadline - time.monotonic()
        if left <= 0:
            return False
        for key, mask in self.selector.select(left):
            if key.data is None:
                self._hear_zygote()
            elif key.fileobj is key.data.channel:
                self._exchange(key.data, mask)
            else:
                self._read_pipe(key.data, key.fileobj)
        return True

    def _hear_zygote(self) -> None:
        message = self.sandbox._hear(END_S)
        if "exited" in message:
            self.ranks[message["exited"]].exit_code = message["code"]

    def _exchange(self, rank: Rank, mask: int) -> None:
        try:
            if mask & selectors.EVENT_WRITE:
                self._write(rank)
            if mask & selectors.EVENT_READ:
                data = rank.channel.recv(READ_NBYTES)
                _feed(rank, data)
        except BlockingIOError:
            return
        except OSError:
            rank.closed = True
        if rank.closed or rank.tamper:
            self.selector.unregister(rank.channel)
            rank.closed = True

    def _write(self, rank: Rank) -> None:
        sent = rank.channel.send(rank.outbox[:READ_NBYTES])
        rank.outbox = rank.outbox[sent:]
        if not rank.outbox:
            self.selector.modify(rank.channel, selectors.EVENT_READ, rank)

    def _read_pipe(self, rank: Rank, fd: int) -> None:
        if not _pour(rank, fd):
            self.selector.unregister(fd)


class TimedWorld:
    """One rank that repeats a probe on demand; the judge's clock runs from the scalar to the digest."""

    def __init__(self, sandbox: Sandbox, request: Request, ranks: list[Rank]):
        self.sandbox, self.rank = sandbox, ranks[0]
        self._world = _World(sandbox, request, ranks)

    def start(self, inputs: dict[str, Any], deadline: float) -> bool:
        """Send the inputs and wait for the untimed first call; False when it failed or took too long."""
        self._world._await_hello()
        ids = self._world._send_case(0, [inputs])
        while not self._world._settled(self.rank, ids):
            if not self._world._turn(deadline):
                return False
        return self.rank.answers[0].value == "ready"

    def repeat(self, scalar: float, deadline: float) -> tuple[float, Any] | None:
        """(seconds, digest) of one repetition; None when no digest came in time."""
        number = self.sandbox.next_id()
        frame = encode({"id": number, "scalar": scalar})
        self.rank.answers.append(Answer())
        begun = time.perf_counter()
        self.rank.channel.send(frame)
        while not self._world._settled(self.rank, {0: number}):
            if not self._world._turn(deadline):
                return None
        return time.perf_counter() - begun, self.rank.answers[-1].value

    def stacks(self) -> None:
        self._world._dump_stacks()

    def close(self) -> None:
        self._world.selector.close()
        self.sandbox._bury([self.rank])


def _open_rank(number: int, frame_nbytes: int) -> tuple[Rank, list[int]]:
    """The judge's ends of a rank's channels, and the four descriptors that go to the zygote."""
    mine, theirs = socket.socketpair()
    pipes = [os.pipe() for _ in range(3)]
    for read_fd, _ in pipes:
        os.set_blocking(read_fd, False)
    reader = FrameReader(WireLimits(frame_nbytes=frame_nbytes))
    rank = Rank(number, mine, *(read_fd for read_fd, _ in pipes), reader=reader)
    return rank, [theirs.detach(), *(write_fd for _, write_fd in pipes)]


def _close_rank(rank: Rank) -> None:
    rank.channel.close()
    for fd in (rank.events_fd, rank.stacks_fd, rank.output_fd):
        os.close(fd)


def _feed(rank: Rank, data: bytes) -> None:
    """Bytes from a rank's answer channel; the end of the stream closes it."""
    if not data:
        rank.closed = True
        return
    try:
        rank.inbox += rank.reader.feed(data)
    except WireError as error:
        rank.tamper = f"rank {rank.number} sent {error}"


def _accept(rank: Rank, message: Any, request_id: int) -> None:
    """One answer: the right id and one of the three forms, else it is tampering."""
    answer = rank.answers[-1]
    if not isinstance(message, dict) or message.get("id") != request_id or len(message) != 2:
        rank.tamper = f"rank {rank.number} sent an answer that belongs to no request"
        return
    answer.arrived = True
    if "value" in message:
        answer.value = message["value"]
    elif isinstance(message.get("refused"), str):
        answer.refused = message["refused"]
    elif isinstance(message.get("error"), dict):
        answer.error = message["error"]
    else:
        rank.tamper = f"rank {rank.number} sent an answer of no known form"


def _pour(rank: Rank, fd: int) -> bool:
    """Move what a pipe holds into its capped buffer, dropping the rest; False at the end of the stream."""
    buffer, cap = {
        rank.events_fd: (rank.events, EVENTS_NBYTES),
        rank.stacks_fd: (rank.stacks, STACKS_NBYTES),
        rank.output_fd: (rank.output, OUTPUT_NBYTES),
    }[fd]
    with suppress(BlockingIOError):
        data = os.read(fd, READ_NBYTES)
        buffer += data[: max(0, cap - len(buffer))]
        return bool(data)
    return True


def _drain(rank: Rank) -> None:
    """After the rank is dead: judge what it left on the wire, keep what it left in the pipes."""
    for fd in (rank.events_fd, rank.stacks_fd, rank.output_fd):
        while _pour(rank, fd) and _has_more(fd):
            pass
    with suppress(OSError):
        while not rank.closed and (data := rank.channel.recv(READ_NBYTES)):
            _feed(rank, data)
            if rank.tamper:
                return
    settled = all(answer.arrived for answer in rank.answers)
    if not rank.tamper and ((rank.inbox and settled) or (rank.reader.partial and settled)):
        rank.tamper = f"rank {rank.number} sent bytes after its answer"


def _has_more(fd: int) -> bool:
    with selectors.DefaultSelector() as selector:
        selector.register(fd, selectors.EVENT_READ)
        return bool(selector.select(0))


def signal_name(code: int | None) -> str:
    """How a rank ended, in words: SIGSEGV, exit status 3, or nothing when it was still alive."""
    if code is None or code == 0:
        return "exit status 0" if code == 0 else ""
    return signal.Signals(-code).name if code < 0 else f"exit status {code}"
