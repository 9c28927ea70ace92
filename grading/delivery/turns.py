"""Gradings of one hub take turns: as many at once as there are cores, in the order in which they came.

A turn is a numbered file in the hub, locked by its holder; the kernel drops the lock when the holder dies. Twenty
pushes at once then need the memory of two gradings, and the first to come is the first to be told.
"""

import contextlib
import fcntl
import os
import time
from collections.abc import Callable, Iterator
from pathlib import Path

FOLDER = "labs-turns"
POLL_S = 0.05


@contextlib.contextmanager
def turn(hub: Path, say: Callable[[str], None], at_once: int = 0) -> Iterator[None]:
    """Wait for one's turn, and hold it; `at_once` 0: one a core. `say` hears how many come before."""
    folder = hub / FOLDER
    folder.mkdir(exist_ok=True)
    number, held = _take(folder)
    try:
        _wait(folder, number, at_once or len(os.sched_getaffinity(0)), say)
        yield
    finally:
        (folder / str(number)).unlink(missing_ok=True)
        os.close(held)


def _take(folder: Path) -> tuple[int, int]:
    """The next number, and the descriptor that holds it."""
    with open(folder / "last", "a+") as last:
        fcntl.flock(last, fcntl.LOCK_EX)
        last.seek(0)
        number = 1 + max([0, *map(int, last.read().split()), *_numbers(folder)])
        held = os.open(folder / str(number), os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        fcntl.flock(held, fcntl.LOCK_EX)
        last.truncate(0)
        last.write(f"{number}\n")
    return number, held


def _wait(folder: Path, number: int, at_once: int, say: Callable[[str], None]) -> None:
    told = 0
    while (before := _before(folder, number)) >= at_once:
        if before != told:
            say(f"waiting: {before} gradings come before yours")
        told = before
        time.sleep(POLL_S)


def _before(folder: Path, number: int) -> int:
    """How many earlier turns are held; those of the dead are cleared away."""
    count = 0
    for other in sorted(_numbers(folder)):
        if other >= number:
            break
        with contextlib.suppress(FileNotFoundError):
            count += _is_held(folder / str(other))
    return count


def _is_held(path: Path) -> bool:
    descriptor = os.open(path, os.O_RDWR | os.O_CLOEXEC)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return True
    else:
        path.unlink(missing_ok=True)
        return False
    finally:
        os.close(descriptor)


def _numbers(folder: Path) -> list[int]:
    return [int(name) for name in os.listdir(folder) if name.isdigit()]
