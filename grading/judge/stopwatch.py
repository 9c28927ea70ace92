"""Time as the judge sees it: from the scalar that it sends to the digest that it gets, with other gradings kept out."""

import contextlib
import fcntl
import os
import random
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from grading.judge.compare import close
from grading.judge.world import TimedWorld

TIME_S = 10.0  # for one side of a ratio
HOPELESS = 10  # a first repetition this many times over the bar will not come down to it


class Stopwatch:
    """Times one world; `digest(scalar)` is what a right call returns for that scalar, within `rtol`."""

    def __init__(self, world: TimedWorld, digest: Callable[[float], float] | None, rtol: float, draw: random.Random):
        self.world, self.digest, self.rtol, self.draw = world, digest, rtol, draw

    def run(self, inputs: dict[str, Any], reps: int, enough_s: float | None) -> float | None:
        """The best of the laps that the deadline allowed; None when the rank failed, in any lap, or none came in."""
        if not self.world.start(inputs, time.monotonic() + TIME_S):
            self.world.stacks()
            return None
        with machine_lock(exclusive=True):
            laps = self._laps(reps, enough_s)
        return None if self.world.failed else min(laps, default=None)

    def _laps(self, reps: int, enough_s: float | None) -> list[float]:
        """Time one call after another, until there are enough, or time is up, or the bar is met or out of reach."""
        deadline = time.monotonic() + TIME_S
        laps: list[float] = []
        while len(laps) < reps:
            scalar = self.draw.uniform(0.5, 1.5)
            lap = self.world.repeat(scalar, deadline)
            if lap is None:
                break
            laps.append(lap[0])
            if self.digest is not None:
                close(lap[1], self.digest(scalar), self.rtol, "the timed call's checksum")
            if enough_s is not None and (laps[-1] <= enough_s or laps[0] > HOPELESS * enough_s):
                break
        return laps


@contextlib.contextmanager
def machine_lock(exclusive: bool) -> Iterator[None]:
    """Keep other gradings on this machine out while a time is taken; ordinary probes share the lock.

    Everybody passes a gate first, and who wants the machine alone holds it shut while waiting for it: else probes
    that overlap would keep the clock waiting for ever.
    """
    with _locked("gate", fcntl.LOCK_EX) as gate, _locked("clock", fcntl.LOCK_EX if exclusive else fcntl.LOCK_SH):
        if not exclusive:
            fcntl.flock(gate, fcntl.LOCK_UN)
        yield


@contextlib.contextmanager
def _locked(name: str, how: int) -> Iterator[int]:
    path = Path(tempfile.gettempdir()) / f"labs-{name}-{os.getuid()}"
    fd = os.open(path, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
    try:
        fcntl.flock(fd, how)
        yield fd
    finally:
        os.close(fd)
