"""One rank: a fresh fork of the zygote that joins its world, imports the learner's code and answers case by case.

Everything here runs beside the learner's code and can be changed by it. The judge believes only values.
"""

import contextlib
import faulthandler
import importlib
import inspect
import os
import resource
import signal
import socket
import struct
import sys
import traceback
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

from grading.sandbox.wire import FrameReader, WireError, WireLimits, encode

CHUNK_NBYTES = 1 << 20
MESSAGE_CHARS = 4000
NAME_CHARS = 200


@dataclass(frozen=True)
class World:
    """What a rank is told when it is born. Descriptors belong to this rank alone; `port` 0 means no store."""

    rank: int
    size: int
    group: bool
    port: int
    listen_fd: int | None
    tree: str
    files: bool
    frame_nbytes: int
    timeout_s: float


@dataclass(frozen=True)
class Channels:
    """A rank's four ways out, as descriptors: answers (both ways), events, stacks and stdout + stderr."""

    answers: int
    events: int
    stacks: int
    output: int


def run(world: World, channels: Channels, recorder: Any) -> None:
    """The life of a rank. It ends by os._exit: no atexit hook, no destructor, no flush of the learner's runs."""
    _plug_in(world, channels)
    recorder.root = world.tree
    channel = _Channel(channels.answers, world.frame_nbytes)
    store = _join(world)
    channel.send({"hello": world.rank})
    _raise_fence(world)
    recorder.sink = channels.events
    with contextlib.suppress(EOFError):
        _serve(channel, world, store, recorder)
    os._exit(0)


def _plug_in(world: World, channels: Channels) -> None:
    """Wire stdout and stderr to the judge, the stack dump to its pipe, and the tree to the end of sys.path."""
    os.dup2(channels.output, 1)
    os.dup2(channels.output, 2)
    faulthandler.register(signal.SIGUSR1, file=channels.stacks, all_threads=False, chain=False)
    sys.path.append(world.tree)


def _raise_fence(world: World) -> None:
    if not world.files:
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (0, 0))


def _join(world: World) -> Any:
    """The store of this world (None for a single rank) and, with `group`, the default gloo group over it."""
    if world.port == 0:
        return None
    import torch.distributed as dist

    timeout = timedelta(seconds=world.timeout_s)
    store = dist.TCPStore(
        "127.0.0.1",
        world.port,
        world.size,
        is_master=world.rank == 0,
        timeout=timeout,
        wait_for_workers=False,
        master_listen_fd=world.listen_fd,
    )
    if world.group:
        dist.init_process_group("gloo", store=store, rank=world.rank, world_size=world.size, timeout=timeout)
    return store


def _serve(channel: "_Channel", world: World, store: Any, recorder: Any) -> None:
    while True:
        request = channel.receive()
        recorder.case = request["case"]
        probe = request["probe"]
        try:
            function = _probe(probe)
            inputs = _inputs(function, request["inputs"], world, store, recorder)
            if request.get("timed"):
                _repeat(channel, function, inputs, request["id"], world.tree)
                continue
            answer = encode({"id": request["id"], "value": function(**inputs)}, channel.limits)
        except WireError as error:
            answer = encode({"id": request["id"], "refused": str(error)[:MESSAGE_CHARS]})
        except BaseException as error:
            answer = encode({"id": request["id"], "error": _describe(error, world.tree)})
        channel.send_bytes(answer)


def _probe(name: str) -> Any:
    """A probe of the lab's probes.py, or `module.probe`; the first call imports it, and with it the learner's files."""
    module, _, function = name.rpartition(".")
    return getattr(importlib.import_module(module or "probes"), function)


def _inputs(function: Any, given: dict[str, Any], world: World, store: Any, recorder: Any) -> dict[str, Any]:
    """The judge's inputs and those of the engine's own keywords that the probe asks for."""
    offered = {"lab_record": recorder, "lab_rank": world.rank, "lab_world": world.size, "lab_store": store}
    wanted = inspect.signature(function).parameters
    return given | {name: value for name, value in offered.items() if name in wanted}


def _repeat(channel: "_Channel", function: Any, inputs: dict[str, Any], request_id: int, tree: str) -> None:
    """Timed repetitions: warm up, say ready, then one digest for each scalar; the judge holds the clock."""
    function(**inputs, lab_scalar=0.0)
    channel.send({"id": request_id, "value": "ready"})
    while (message := channel.receive()).get("scalar") is not None:
        try:
            answer = {"value": float(function(**inputs, lab_scalar=message["scalar"]))}
        except BaseException as error:  # under this lap's own id, else it would look like tampering
            answer = {"error": _describe(error, tree)}
        channel.send({"id": message["id"], **answer})


def _describe(error: BaseException, tree: str) -> dict[str, Any]:
    """An exception as data: its type and bases by name, its message, and the frames inside the learner's tree."""
    frames = [
        {
            "path": frame.filename[len(tree) + 1 :],
            "line": frame.lineno or 0,
            "function": frame.name[:NAME_CHARS],
        }
        for frame in traceback.extract_tb(error.__traceback__)
        if frame.filename.startswith(tree + "/")
    ]
    if isinstance(error, SyntaxError) and error.filename and error.filename.startswith(tree + "/"):
        frames.append({"path": error.filename[len(tree) + 1 :], "line": error.lineno or 0, "function": "<module>"})
    try:
        message = error.msg if isinstance(error, SyntaxError) else str(error)
    except Exception as broken:
        message = f"(its message could not be read: {type(broken).__name__})"
    bases = [base.__name__[:NAME_CHARS] for base in type(error).__mro__[:20]]
    return {"type": bases[0], "bases": bases, "message": str(message)[:MESSAGE_CHARS], "frames": frames[-20:]}


class _Channel:
    """The rank's end of its socket to the judge."""

    def __init__(self, fd: int, frame_nbytes: int):
        self._socket = socket.socket(fileno=fd)
        self.limits = WireLimits(frame_nbytes=frame_nbytes)
        self._reader = FrameReader(self.limits)
        self._waiting: list[Any] = []

    def receive(self) -> Any:
        while not self._waiting:
            data = self._socket.recv(CHUNK_NBYTES)
            if not data:
                raise EOFError
            self._waiting += self._reader.feed(data)
        return self._waiting.pop(0)

    def send(self, value: Any) -> None:
        self.send_bytes(encode(value))

    def send_bytes(self, frame: bytes) -> None:
        self._socket.sendall(frame)


LENGTH = struct.Struct(">I")


def send_message(channel: socket.socket, text: bytes, fds: list[int] | None = None) -> None:
    """One control message, with descriptors attached to its first byte."""
    data = LENGTH.pack(len(text)) + text
    sent = socket.send_fds(channel, [data], fds or [])
    if sent < len(data):
        channel.sendall(data[sent:])


def receive_message(channel: socket.socket, max_fds: int = 64) -> tuple[bytes, list[int]]:
    """The next control message and its descriptors; EOFError when the other side has gone."""
    head, fds, _, _ = socket.recv_fds(channel, LENGTH.size, max_fds)
    while 0 < len(head) < LENGTH.size:
        head += channel.recv(LENGTH.size - len(head))
    if not head:
        raise EOFError
    (length,) = LENGTH.unpack(head)
    text = b""
    while len(text) < length:
        part = channel.recv(length - len(text))
        if not part:
            raise EOFError
        text += part
    return text, list(fds)
