"""What the tables share: cases out of files, and what must be true of the machine after each of them.

A case is a file: its docstring is the attack, `EXPECTED` the verdict, `DEFENDS` the property that holds it off.
"""

import contextlib
import ctypes
import importlib.util
import os
import signal
import time
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

import pytest

FOUND = {"forged passes": 0, "hangs": 0, "leaks": 0, "processes left": 0, "files left": 0}  # told at the end
HERE = Path(__file__).parent
SUBREAPER = 36  # PR_SET_CHILD_SUBREAPER: what a case orphans becomes our child, where it cannot hide
GONE_WITHIN_S = 5.0
LOCKS = (
    "labs-clock-",
    "labs-gate-",
    f"labs-{os.getuid()}",
)  # empty files that gradings share; the next one reuses them


def cases(table: str) -> list:
    """One pytest parameter a file of the folder `table`, in order of the names."""
    paths = sorted((HERE / table).glob("[A-Z][0-9][0-9]_*.py"))
    return [pytest.param(_load(path), id=path.stem) for path in paths]


def none(what: str, found: list) -> None:
    """Asserts that nothing was found, and counts what was for the summary; `what` is a key of FOUND."""
    FOUND[what] += len(found)
    assert not found, f"{what}: {found}"


def _load(path: Path) -> ModuleType:
    spec = importlib.util.spec_from_file_location(f"attack_{path.stem}", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    for name in ("__doc__", "EXPECTED", "DEFENDS"):
        assert getattr(module, name, None), f"{path.name} has no {name}"
    return module


@contextlib.contextmanager
def nothing_left(folder: Path, timeout_s: float) -> Iterator[None]:
    """The block ends in time and leaves no process, and no file in the temporary folder `folder`."""
    ctypes.CDLL(None).prctl(SUBREAPER, 1)
    before = children()
    with _alarm(timeout_s):
        yield
    deadline = time.monotonic() + GONE_WITHIN_S
    while (left := children() - before) and time.monotonic() < deadline:
        time.sleep(0.05)
    none("processes left", [_command(pid) for pid in left])
    none("files left", [entry.name for entry in folder.iterdir() if not entry.name.startswith(LOCKS)])


def children() -> set[int]:
    """Our children that still run; those that have ended are buried on the way, unless subprocess does it."""
    pids = Path(f"/proc/self/task/{os.getpid()}/children").read_text().split()
    return {int(pid) for pid in pids if not _ended(int(pid))}


def _ended(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] in "ZX"
    except FileNotFoundError:
        return True


def _command(pid: int) -> str:
    with contextlib.suppress(OSError):
        return Path(f"/proc/{pid}/cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")[:200]
    return str(pid)


@contextlib.contextmanager
def _alarm(seconds: float) -> Iterator[None]:
    """A case that hangs fails by itself; `make attacks` does not hang with it."""

    def ring(signum, frame):
        FOUND["hangs"] += 1
        raise TimeoutError(f"the case ran longer than {seconds:.0f} s")

    old = signal.signal(signal.SIGALRM, ring)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, old)
