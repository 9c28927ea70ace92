"""Has something changed since a process read it: the engine, of which a server is no better than the code it was, or
the course, of which a grading must see one state?

Files are known by inode, size and times, the time of the last change of status among them: that one cannot be set
back, so every edit shows, and a hundred files take a few milliseconds.
"""

import os
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import grading

ENGINE = Path(grading.__file__).parent
TICK_S = 0.02  # /proc tells a process's start in hundredths of a second

Mark = tuple[str, int, int, int, int]


def engine_state() -> frozenset[Mark]:
    """The engine's files and the folders of installed packages, as they are now."""
    packages = [Path(folder) for folder in sys.path if folder.endswith("-packages")]
    return frozenset(map(_mark, [*_files(ENGINE), *(folder for folder in packages if folder.is_dir())]))


def engine_changed_since_start() -> bool:
    """Was a file of the engine written after this process began? Then nobody knows which of them it has read."""
    begun = _process_start() - TICK_S
    return any(changed_ns / 1e9 > begun for *_, changed_ns in map(_mark, _files(ENGINE)))


def course_state(root: Path) -> frozenset[Mark]:
    """The files of a course that gradings read, as they are now."""
    folders = [root / name for name in ("challenges", "mini_infra", "upstream_snapshots")]
    return frozenset(map(_mark, [root / "pyproject.toml", *(file for one in folders for file in _files(one))]))


def _mark(path: Path) -> Mark:
    try:
        found = path.stat()
    except OSError:
        return str(path), 0, 0, 0, 0
    return str(path), found.st_ino, found.st_size, found.st_mtime_ns, found.st_ctime_ns


def _files(tree: Path) -> Iterator[Path]:
    """Every file below a folder but bytecode."""
    for folder, below, names in os.walk(tree):
        below[:] = [name for name in below if name != "__pycache__"]
        yield from (Path(folder, name) for name in names)


def _process_start() -> float:
    """When this process began, on the clock of time.time()."""
    ticks = int(Path("/proc/self/stat").read_text().rpartition(")")[2].split()[19])
    age_s = time.clock_gettime(time.CLOCK_BOOTTIME) - ticks / os.sysconf("SC_CLK_TCK")
    return time.time() - age_s
