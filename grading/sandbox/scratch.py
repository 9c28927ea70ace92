"""Temporary folders that do not outlive their owners: a lock tells who is alive, and whoever makes one sweeps the rest.

The kernel drops the lock of a folder when its owner dies, however it dies. A gate, which all of one user's processes
pass, keeps the sweep away from a folder that is made but not locked yet.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

from grading.sandbox.slots import NoSlot, run_folder

PREFIX = "labs-scratch-"


class Scratch:
    """A folder of ours until close(), or until this process and its forks are gone."""

    def __init__(self) -> None:
        sweep()
        with _gate(fcntl.LOCK_SH):
            self.path = Path(tempfile.mkdtemp(prefix=PREFIX))
            self.lock: int | None = _lock(self.path)

    @classmethod
    def given(cls, path: Path, lock: int | None) -> Scratch:
        """The folder that another process made and hands over with its lock, a descriptor."""
        scratch = cls.__new__(cls)
        scratch.path, scratch.lock = path, lock
        return scratch

    def let_go(self) -> None:
        """Close our descriptor: the folder is the others' who have it too."""
        if self.lock is not None:
            os.close(self.lock)
        self.lock = None

    def __enter__(self) -> Path:
        return self.path

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Remove the folder; a second call does nothing."""
        shutil.rmtree(self.path, ignore_errors=True)
        self.let_go()


def sweep() -> None:
    """Remove the folders of this user's that nobody holds; never raises, and does nothing while one is being made."""
    with contextlib.suppress(OSError), _gate(fcntl.LOCK_EX | fcntl.LOCK_NB) as alone:
        for path in stale() if alone else []:
            shutil.rmtree(path, ignore_errors=True)


def stale() -> list[Path]:
    """The folders whose owners are dead."""
    found = []
    for path in Path(tempfile.gettempdir()).glob(f"{PREFIX}*"):
        lock = _lock(path)
        if lock is not None:
            found.append(path)
            os.close(lock)
    return found


def _lock(folder: Path) -> int | None:
    """The lock on a folder of our own; None where another process holds it, or it is not ours, or no folder."""
    with contextlib.suppress(OSError):
        lock = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
        try:
            if os.fstat(lock).st_uid == os.geteuid():
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
                return lock
        except OSError:
            pass
        os.close(lock)
    return None


@contextlib.contextmanager
def _gate(how: int) -> Iterator[bool]:
    """Whether the gate is there to be held: without a folder for it nothing is swept."""
    try:
        gate = os.open(run_folder() / "scratch", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
    except (NoSlot, OSError):
        yield False
        return
    try:
        fcntl.flock(gate, how)
        yield True
    finally:
        os.close(gate)
