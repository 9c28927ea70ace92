"""What the judge holds of one rank: its four channels, and what came over them, each under a cap.

Nothing here trusts a byte: an answer has the request's id and one of three forms, or it is tampering.
"""

import os
import selectors
import signal
import socket
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

from grading.sandbox.wire import FrameReader, WireError, WireLimits

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


def open_rank(number: int, frame_nbytes: int) -> tuple[Rank, list[int]]:
    """The judge's ends of a rank's channels, and the four descriptors that go to the zygote."""
    mine, theirs = socket.socketpair()
    pipes = [os.pipe() for _ in range(3)]
    for read_fd, _ in pipes:
        os.set_blocking(read_fd, False)
    reader = FrameReader(WireLimits(frame_nbytes=frame_nbytes))
    rank = Rank(number, mine, *(read_fd for read_fd, _ in pipes), reader=reader)
    return rank, [theirs.detach(), *(write_fd for _, write_fd in pipes)]


def close_rank(rank: Rank) -> None:
    rank.channel.close()
    for fd in (rank.events_fd, rank.stacks_fd, rank.output_fd):
        os.close(fd)


def feed(rank: Rank, data: bytes) -> None:
    """Bytes from a rank's answer channel; the end of the stream closes it."""
    if not data:
        rank.closed = True
        return
    try:
        rank.inbox += rank.reader.feed(data)
    except WireError as error:
        rank.tamper = f"rank {rank.number} sent {error}"


def accept(rank: Rank, message: Any, request_id: int) -> None:
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


def pour(rank: Rank, fd: int) -> bool:
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


def drain(rank: Rank) -> None:
    """After the rank is dead: judge what it left on the wire, keep what it left in the pipes."""
    for fd in (rank.events_fd, rank.stacks_fd, rank.output_fd):
        while pour(rank, fd) and _has_more(fd):
            pass
    with suppress(OSError):
        while not rank.closed and (data := rank.channel.recv(READ_NBYTES)):
            feed(rank, data)
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
    if code > 0:
        return f"exit status {code}"
    named = -code in set(signal.Signals)  # the real-time ones between the first and the last are not
    return signal.Signals(-code).name if named else f"signal {-code}"
