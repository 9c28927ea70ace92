"""Memory and process limits of a whole jail, by control group, where the machine lets us make one.

Version 1: a group under our own in the memory and in the pids hierarchy. Version 2: one group, under the nearest of our
own group's ancestors that hands both controllers down (a group that holds processes cannot). Without either the jail
has only its rlimits, which bound each process and not the sum: `labs doctor` says so.
"""

from __future__ import annotations

import contextlib
import os
import signal
import time
from collections.abc import Iterable
from pathlib import Path

from grading.sandbox.slots import FIRST_UID, Slot, run_folder, try_slot

PREFIX = "labs-"
REMOVE_WITHIN_S = 2.0


class Group:
    """The folders of one jail's control group (one for version 2, up to two for version 1)."""

    def __init__(self, folders: list[Path]):
        self.folders = folders

    @property
    def bounds_memory(self) -> bool:
        return any(_has(folder, "memory.max", "memory.limit_in_bytes") for folder in self.folders)

    def add(self, *pids: int) -> bool:
        """Whether all of them are in; if not, the group is taken away: one that holds nobody bounds nobody."""
        try:
            for folder in self.folders:
                for pid in pids:
                    _write(folder / "cgroup.procs", str(pid))
        except OSError:
            self.remove()
            return False
        return True

    def memory_kills(self) -> int:
        """How many processes the memory limit has killed so far."""
        for folder in self.folders:
            for name in ("memory.events", "memory.oom_control"):
                if (folder / name).exists():
                    return _field(folder / name, "oom_kill")
        return 0

    def remove(self) -> None:
        """Kill what is left in the group and take it away; never raises."""
        for folder in self.folders:
            _remove(folder)


def make_group(slot: Slot, memory_mb: int, processes: int) -> Group | None:
    """A fresh group named after the slot, or None where none can be made. Groups of dead jails are swept first."""
    places = _places()
    _sweep(places, keep=slot.number)
    folders = []
    for place in places:
        folder = place / f"{PREFIX}{slot.uid}"
        _remove(folder)
        with contextlib.suppress(OSError):
            folder.mkdir()
            if _limit(folder, memory_mb, processes):
                folders.append(folder)
            else:
                folder.rmdir()
    return Group(folders) if folders else None


def _limit(folder: Path, memory_mb: int, processes: int) -> bool:
    """Whether the folder bounds anything. Swap is closed too, else the limit on memory only moves it to disk."""
    nbytes = str(memory_mb << 20)
    wanted = {"memory.limit_in_bytes": nbytes, "memory.memsw.limit_in_bytes": nbytes, "memory.max": nbytes}
    wanted |= {"memory.swap.max": "0", "pids.max": str(processes)}
    limited = False
    for name, value in wanted.items():
        if (folder / name).exists():
            with contextlib.suppress(OSError):
                _write(folder / name, value)
                limited = True
    return limited


def _places() -> list[Path]:
    """Folders in which a jail's group can be made: version 1's two, else version 2's one, else none."""
    mounts, own = _mounts(), _own_groups()
    places = [mounts[name] / own[name] for name in ("memory", "pids") if name in mounts and name in own]
    if not places and "" in mounts and "" in own:
        places = _delegating(mounts[""], own[""])
    return [place for place in places if os.access(place, os.W_OK)]


def _delegating(root: Path, own: str) -> list[Path]:
    here = root / own
    for folder in [here, *here.parents]:
        if not folder.is_relative_to(root):
            break
        with contextlib.suppress(OSError):
            _write(folder / "cgroup.subtree_control", "+memory +pids")
            return [folder]
    return []


def _mounts() -> dict[str, Path]:
    """Version 1 controller name, or "" for version 2 -> mount point."""
    found: dict[str, Path] = {}
    for line in _lines(Path("/proc/self/mounts")):
        _, where, kind, options, *_ = line.split(" ")
        if kind == "cgroup2":
            found[""] = Path(where)
        elif kind == "cgroup":
            found |= {name: Path(where) for name in ("memory", "pids") if name in options.split(",")}
    return found


def _own_groups() -> dict[str, str]:
    """Controller ("" for version 2) -> our group's path below the mount point."""
    found = {}
    for line in _lines(Path("/proc/self/cgroup")):
        _, controllers, path = line.split(":", 2)
        found |= dict.fromkeys(controllers.split(","), path.lstrip("/"))
    return found


def _sweep(places: Iterable[Path], keep: int) -> None:
    """A group whose slot is free belongs to a jail whose judge was killed before it could tidy up."""
    for place in places:
        for folder in place.glob(f"{PREFIX}6*"):
            number = int(folder.name.removeprefix(PREFIX)) - FIRST_UID
            slot = try_slot(run_folder(), number) if number != keep else None
            if slot is not None:
                _remove(folder)
                slot.release()


def _remove(folder: Path) -> None:
    deadline = time.monotonic() + REMOVE_WITHIN_S
    while folder.exists() and time.monotonic() < deadline:
        for pid in _lines(folder / "cgroup.procs"):
            with contextlib.suppress(OSError):
                os.kill(int(pid), signal.SIGKILL)
        try:
            folder.rmdir()
        except OSError:
            time.sleep(0.005)


def _has(folder: Path, *names: str) -> bool:
    return any((folder / name).exists() for name in names)


def _field(path: Path, name: str) -> int:
    for line in _lines(path):
        if line.split(" ")[0] == name:
            return int(line.split(" ")[1])
    return 0


def _lines(path: Path) -> list[str]:
    try:
        return path.read_text().splitlines()
    except OSError:
        return []


def _write(path: Path, value: str) -> None:
    """Control files are opened without O_CREAT: a missing one is an error, not a new file."""
    descriptor = os.open(path, os.O_WRONLY | os.O_CLOEXEC)
    try:
        os.write(descriptor, value.encode())
    finally:
        os.close(descriptor)
