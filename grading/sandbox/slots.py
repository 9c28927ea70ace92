"""One slot a running jail: a number nobody else on this machine holds, from which its uid and cgroup's name follow.

The kernel counts RLIMIT_NPROC by real uid over all jails, so two jails of one uid could starve each other. A slot is a
locked file; the kernel drops the lock when its holder dies, however it dies.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import tempfile
from collections.abc import Iterator
from pathlib import Path

FIRST_UID = 60000
SLOTS = 512


class NoSlot(RuntimeError):
    """All slots are held."""


class Slot:
    """Held until release() or the end of the process (children forked meanwhile do not prolong it)."""

    def __init__(self, number: int, descriptor: int):
        self.number = number
        self.uid = FIRST_UID + number
        self._descriptor: int | None = descriptor

    def release(self) -> None:
        if self._descriptor is None:
            return
        # unlock first: closing alone keeps the lock as long as a forked child has the descriptor too
        fcntl.flock(self._descriptor, fcntl.LOCK_UN)
        os.close(self._descriptor)
        self._descriptor = None


def take_slot() -> Slot:
    """The lowest free slot (numbers from 1). Raises NoSlot."""
    folder = run_folder()
    for number in range(1, SLOTS + 1):
        slot = try_slot(folder, number)
        if slot is not None:
            return slot
    raise NoSlot(f"all {SLOTS} jail slots in {folder} are in use")


def try_slot(folder: Path, number: int) -> Slot | None:
    """Slot `number`, or None while another jail holds it."""
    descriptor = os.open(folder / f"slot-{number}", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        os.close(descriptor)
        return None
    return Slot(number, descriptor)


def run_folder() -> Path:
    """Where the locks lie: one folder a user, which nobody else can write."""
    for folder in _candidates():
        with contextlib.suppress(OSError):
            folder.mkdir(mode=0o700, exist_ok=True)
            found = folder.lstat()
            if found.st_uid == os.geteuid() and not found.st_mode & 0o022 and not folder.is_symlink():
                return folder
    raise NoSlot("no folder for the jail's locks: neither the run-time folder nor the temporary one is writable")


def _candidates() -> Iterator[Path]:
    if os.geteuid() == 0:
        yield Path("/run/labs")
    runtime = os.environ.get("XDG_RUNTIME_DIR")
    if runtime:
        yield Path(runtime) / "labs"
    yield Path(tempfile.gettempdir()) / f"labs-{os.geteuid()}"
