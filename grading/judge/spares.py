"""Spares: judges with their zygotes, warmed up before there is anything to grade, each for one grading.

A spare binds empty folders that the judge fills when it is taken, so labs with equal run settings share a kind. It
never comes back: a process that has run a learner's code is closed.
"""

import json
from pathlib import Path
from typing import NamedTuple

from grading.course.catalog import Lab
from grading.course.trees import run_settings
from grading.judge.process import Judge, wants_reference

A_KIND = 2
IN_ALL = 4
LEFT_MB = 2048  # what must be free for one more: a spare with both jails holds about 0.7 GB, much of it shared


def kind_of(lab: Lab) -> str:
    """Labs of one kind can be graded by one spare: the same limits, packages and jails."""
    return json.dumps([run_settings(lab), wants_reference(lab)], sort_keys=True)


class _Spare(NamedTuple):
    kind: str
    judge: Judge


class Spares:
    """The spares of one server; not for several threads. Close it."""

    def __init__(self, jailed: bool):
        self._jailed = jailed
        self._waiting: list[_Spare] = []  # the kind that was asked for longest ago comes first

    def take(self, kind: str) -> Judge | None:
        """The warmest spare of a kind, for one grading; None when there is none. Its taker closes it."""
        self.bury()
        ours = [spare for spare in self._waiting if spare.kind == kind]
        if not ours:
            return None
        spare = next((one for one in ours if one.judge.await_warm(0)), ours[0])
        self._waiting.remove(spare)
        return spare.judge

    def prepare(self, kind: str) -> None:
        """Start one spare of a kind, unless there are enough or memory is short; the oldest makes room for it."""
        self.bury()
        ours = [spare for spare in self._waiting if spare.kind == kind]
        self._waiting = [spare for spare in self._waiting if spare.kind != kind] + ours
        if len(ours) >= A_KIND or _available_mb() < LEFT_MB:
            return
        self._drop(self._waiting[: max(0, len(self._waiting) + 1 - IN_ALL)])
        settings, with_reference = json.loads(kind)
        self._waiting.append(_Spare(kind, Judge(settings, with_reference, self._jailed)))

    def warming(self) -> bool:
        return any(spare.judge.alive and not spare.judge.await_warm(0) for spare in self._waiting)

    def bury(self) -> None:
        """Take away those that have died; nothing takes their place before it is asked for."""
        self._drop([spare for spare in self._waiting if not spare.judge.alive])

    def let_go(self) -> None:
        """In a fork: forget them without ending them."""
        for spare in self._waiting:
            spare.judge.let_go()
        self._waiting = []

    def close(self) -> None:
        self._drop(list(self._waiting))

    def __len__(self) -> int:
        return len(self._waiting)

    def _drop(self, spares: list[_Spare]) -> None:
        for spare in spares:
            self._waiting.remove(spare)
            spare.judge.close()


def _available_mb() -> int:
    for line in Path("/proc/meminfo").read_text().splitlines():
        if line.startswith("MemAvailable:"):
            return int(line.split()[1]) >> 10
    return LEFT_MB
