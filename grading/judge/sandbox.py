"""The judge's end of a jail: start it, hand it worlds to run, bury them, keep folders for a test."""

from __future__ import annotations

import contextlib
import os
import socket
from collections.abc import Iterator
from typing import TYPE_CHECKING

from grading.judge.control import END_S, Control
from grading.judge.errors import InfraError
from grading.judge.rank import Rank, close_rank, drain, open_rank
from grading.judge.world import Outcome, Request, TimedWorld, World
from grading.sandbox.jail import Jail, JailError, JailSpec, start
from grading.sandbox.wire import MIB, FrameReader, WireLimits

if TYPE_CHECKING:
    from grading.course.catalog import Limits

READY_S = 120.0  # for torch to be imported on a machine that is busy with other things
GROUP_S = 600.0  # gloo's own timeout: far beyond any deadline of ours, so that ours is the one that is told


class Sandbox:
    """A zygote in its jail, serving one grading. Raises InfraError when the engine's own side breaks."""

    def __init__(self, spec: JailSpec, preload: list[str], jailed: bool):
        self.limits: Limits = spec.limits
        ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_STREAM)
        with theirs:
            try:
                self.jail: Jail = start(spec, theirs.fileno(), jailed=jailed)
            except JailError as error:
                raise InfraError(f"the jail did not start: {error}") from None
        self.tree = self.jail.lab
        self.control = Control(ours, self.jail.stderr_tail)
        self._ready = False
        config = {"confinement": self.jail.confinement, "preload": preload, "tree": self.tree, "files": spec.files}
        config["recipes"] = list(self.jail.recipes)
        self.control.tell(**config, scratch=self.jail.tmp, frame_nbytes=self.limits.frame_mb * MIB)

    def wait_ready(self) -> None:
        if not self._ready:
            self.control.hear(READY_S)
            self._ready = True

    def ask(self, request: Request) -> Outcome:
        """Run one world to its end; nothing of it is left when this returns."""
        self.wait_ready()
        before, kills = self.jail.loopback_bytes(), self.jail.memory_kills()
        with self._world(request) as world:
            timeout = not world.play()
        after = self.jail.loopback_bytes()
        seen = None if before is None or after is None else after - before
        return Outcome(world.ranks, timeout, self.jail.memory_kills() > kills, seen)

    @contextlib.contextmanager
    def timed(self, request: Request) -> Iterator[TimedWorld]:
        """A world of one rank that will repeat its probe on demand."""
        self.wait_ready()
        with self._world(request) as world:
            yield TimedWorld(world)

    @contextlib.contextmanager
    def _world(self, request: Request) -> Iterator[World]:
        world = World(self.control, self.limits.probe_s, request, self._fork(request))
        try:
            yield world
        finally:
            world.selector.close()
            self._bury(world.ranks)

    def _fork(self, request: Request) -> list[Rank]:
        ranks, theirs = [], []
        for number in range(request.ranks):
            rank, fds = open_rank(number, self.limits.frame_mb * MIB)
            ranks.append(rank)
            theirs += fds
        try:
            message = {"ranks": request.ranks, "group": request.group, "env": request.env, "timeout_s": GROUP_S}
            self.control.tell(theirs, op="run", **message)
        finally:
            for fd in theirs:
                os.close(fd)
        return ranks

    def _bury(self, ranks: list[Rank]) -> None:
        """End the world: the zygote kills it, then what is still in the pipes is read and judged."""
        try:
            self.control.tell(op="end")
            while "ended" not in (message := self.control.hear(END_S)):
                pass
            for rank in ranks:
                rank.exit_code = message["ended"].get(str(rank.number), rank.exit_code)
                drain(rank)
        finally:
            for rank in ranks:
                close_rank(rank)

    def keep_folder(self) -> str:
        """A folder in the jail that the sweep between two worlds leaves alone; its path in there."""
        self.wait_ready()
        self.control.tell(op="keep", name=f"kept-{self.control.next_id()}")
        return self.control.hear(END_S)["folder"]

    def drop_folder(self, path: str) -> None:
        self.control.tell(op="drop", path=path)
        self.control.hear(END_S)

    def collect(self, path: str) -> dict[str, bytes]:
        """The plain files of a kept folder, read after the ranks are dead."""
        read_fd, write_fd = os.pipe()
        self.control.tell([write_fd], op="collect", path=path)
        os.close(write_fd)
        with os.fdopen(read_fd, "rb") as pipe:
            (files,) = FrameReader(WireLimits()).feed(pipe.read())
        return {name: bytes(data.numpy()) for name, data in files}

    def close(self) -> None:
        self.control.socket.close()
        self.jail.kill()
