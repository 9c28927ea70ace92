"""One request to the zygote: ranks that answer case by case under a deadline, read by one selector loop.

The ranks of one world are one adversary: whatever one of them does wrong is charged to the request, and the next
world starts clean. The loop believes nothing but values; it only notes how each rank came to its end.
"""

import contextlib
import selectors
import time
from dataclasses import dataclass
from typing import Any

from grading.judge.control import END_S, Control
from grading.judge.errors import InfraError
from grading.judge.rank import READ_NBYTES, Answer, Rank, accept, feed, pour
from grading.sandbox.wire import encode

START_S = 20.0  # fork and group: the engine's own work, never the learner's
GRACE_S = 1.0  # for the peers of a rank that has failed


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


class World:
    """The selector loop of one request: feeds inputs, reads the four channels of each rank, keeps the deadline."""

    def __init__(self, control: Control, probe_s: float, request: Request, ranks: list[Rank]):
        self.control, self.probe_s, self.request, self.ranks = control, probe_s, request, ranks
        self.selector = selectors.DefaultSelector()
        self.selector.register(control.socket, selectors.EVENT_READ, None)
        for rank in ranks:
            rank.channel.setblocking(False)
            for source in (rank.channel, rank.events_fd, rank.stacks_fd, rank.output_fd):
                self.selector.register(source, selectors.EVENT_READ, rank)

    def play(self) -> bool:
        """Every case, one after another; False when a deadline passed. Stops at the first failure."""
        try:
            self.await_hello()
            for index, inputs in enumerate(self.request.cases):
                ids = self.send_case(index, inputs)
                if not self._await_answers(ids):
                    return False
                if self._broken(index):
                    return True
            return True
        finally:
            self.selector.close()

    def await_hello(self) -> None:
        """Wait until every rank has joined its world: the engine's own start, before any learner's line has run."""
        deadline = time.monotonic() + START_S
        while any(not rank.inbox for rank in self.ranks):
            if any(rank.closed for rank in self.ranks) or not self.turn(deadline):
                output = b" ".join(bytes(rank.output[-400:]) for rank in self.ranks).decode(errors="replace")
                raise InfraError(f"a world of {len(self.ranks)} ranks did not start. {output}")
        for rank in self.ranks:
            rank.inbox.clear()

    def send_case(self, index: int, inputs: list[dict[str, Any]]) -> dict[int, int]:
        ids = {}
        for rank, given in zip(self.ranks, inputs, strict=True):
            ids[rank.number] = self.control.next_id()
            message = {"id": ids[rank.number], "case": index, "probe": self.request.probe, "inputs": given}
            rank.outbox = encode(message | {"timed": self.request.timed}, rank.reader.limits)
            rank.answers.append(Answer())
            if not rank.closed:
                self.selector.modify(rank.channel, selectors.EVENT_READ | selectors.EVENT_WRITE, rank)
        return ids

    def _await_answers(self, ids: dict[int, int]) -> bool:
        deadline = time.monotonic() + self.probe_s
        hurried = False
        while True:
            if all([self.settled(rank, ids) for rank in self.ranks]):  # noqa: C419  each has its say
                return True
            if not hurried and any(self._failed(rank) for rank in self.ranks):
                deadline, hurried = min(deadline, time.monotonic() + GRACE_S), True
            if not self.turn(deadline):
                self.dump_stacks()
                return hurried  # a peer failed and these waited for it: that failure is the verdict, not their wait

    def settled(self, rank: Rank, ids: dict[int, int]) -> bool:
        """Has this rank answered the case, died, or broken the protocol?"""
        if rank.inbox and not rank.answers[-1].arrived:
            accept(rank, rank.inbox.pop(0), ids[rank.number])
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

    def dump_stacks(self) -> None:
        """Ask for each rank's Python stack; it is a courtesy, so half a second is all it gets."""
        self.control.tell(op="stacks")
        deadline = time.monotonic() + 0.5
        alive = [rank for rank in self.ranks if not rank.closed]
        while any(b"\n" not in rank.stacks for rank in alive) and self.turn(deadline):
            pass
        deadline = time.monotonic() + 0.05
        while self.turn(deadline):
            pass

    def turn(self, deadline: float) -> bool:
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
        message = self.control.hear(END_S)
        if "exited" in message:
            self.ranks[message["exited"]].exit_code = message["code"]

    def _exchange(self, rank: Rank, mask: int) -> None:
        try:
            if mask & selectors.EVENT_WRITE:
                self._write(rank)
            if mask & selectors.EVENT_READ:
                data = rank.channel.recv(READ_NBYTES)
                feed(rank, data)
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
        if not pour(rank, fd):
            self.selector.unregister(fd)


class TimedWorld:
    """One rank that repeats a probe on demand; the judge's clock runs from the scalar to the digest."""

    def __init__(self, world: World):
        self.rank = world.ranks[0]
        self._world = world

    def start(self, inputs: dict[str, Any], deadline: float) -> bool:
        """Send the inputs and wait for the untimed first call; False when it failed or took too long."""
        self._world.await_hello()
        ids = self._world.send_case(0, [inputs])
        while not self._world.settled(self.rank, ids):
            if not self._world.turn(deadline):
                return False
        return self.rank.answers[0].value == "ready"

    def repeat(self, scalar: float, deadline: float) -> tuple[float, Any] | None:
        """(seconds, digest) of one repetition; None when no digest came in time, or none will (`failed`)."""
        number = self._world.control.next_id()
        frame = encode({"id": number, "scalar": scalar})
        self.rank.answers.append(Answer())
        begun = time.perf_counter()
        with contextlib.suppress(OSError):  # a dead rank: the loop sees the end of its stream
            self.rank.channel.send(frame)
        while not self._world.settled(self.rank, {0: number}):
            if not self._world.turn(deadline):
                return None
        seconds = time.perf_counter() - begun
        return None if self.failed else (seconds, self.rank.answers[-1].value)

    @property
    def failed(self) -> bool:
        """Did the last call end in an error, a death or tampering, rather than late or well?"""
        answer = self.rank.answers[-1]
        wrong = answer.error is not None or answer.refused is not None or bool(self.rank.tamper)
        return wrong or (self.rank.closed and not answer.arrived)

    def stacks(self) -> None:
        self._world.dump_stacks()
