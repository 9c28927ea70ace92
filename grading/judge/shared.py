"""Judges that gradings of the course's own trees share: no learner's commit ever gets one."""

import contextlib
import threading
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any, TypeVar

from grading.course.catalog import Lab
from grading.course.trees import run_settings
from grading.judge.process import JOB_LIMITS, Judge

Given, Got = TypeVar("Given"), TypeVar("Got")
WITH_REFERENCE = True  # labs whose hidden tests never ask for it share with those whose do


class Judges:
    """At most `at_once` warm judges, lent out job by job; labs that want the same jail get the same ones.

    A context manager: its end is theirs. To start one costs as much as several gradings.
    """

    def __init__(self, jailed: bool, at_once: int):
        self.jailed, self.at_once = jailed, at_once
        self._idle: list[tuple[dict[str, Any], Judge]] = []
        self._lock = threading.Lock()

    def __enter__(self) -> "Judges":
        return self

    def __exit__(self, *error: object) -> None:
        for _, judge in self._idle:
            judge.close()

    def map(self, function: Callable[[Given], Got], items: Iterable[Given]) -> list[Got]:
        """`function` of each item, `at_once` beside each other, in the order of the items."""
        with ThreadPoolExecutor(max_workers=self.at_once) as pool:
            return list(pool.map(function, items))

    @contextlib.contextmanager
    def lend(self, lab: Lab) -> Iterator[Judge]:
        """A judge for one job. One that broke off in the middle does not come back."""
        settings = run_settings(lab)
        jail = settings | {"limits": {k: v for k, v in settings["limits"].items() if k not in JOB_LIMITS}}
        judge = self._taken(jail) or Judge(settings, WITH_REFERENCE, self.jailed)
        try:
            yield judge
        except BaseException:
            judge.close()
            raise
        if judge.broken:
            judge.close()
        else:
            with self._lock:
                self._idle.append((jail, judge))

    def _taken(self, jail: dict[str, Any]) -> Judge | None:
        """An idle one of this kind; where there is none, idle ones of another kind end: they hold memory."""
        with self._lock:
            for entry in self._idle:
                if entry[0] == jail:
                    self._idle.remove(entry)
                    return entry[1]
            others, self._idle = self._idle, []
        for _, judge in others:
            judge.close()
        return None
