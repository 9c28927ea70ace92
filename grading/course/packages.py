"""The packages that a Mainline seal's upstream needs: pinned, installed into the cache, never beside the user's own.

A lock is upstream_snapshots/packages/<snapshot>.txt, in pip's own format: `name==version --hash=sha256:…` a line. What
it names is the whole of it: dependencies are pinned like the rest, and torch, numpy and safetensors are the jail's.
"""

import hashlib
import re
import shutil
import subprocess
import sys
from pathlib import Path

from grading.course import cache
from grading.course.snapshots import FOLDER, SnapshotError

PIP_S = 300
PIN = re.compile(r"^([A-Za-z0-9][\w.-]*)==", re.MULTILINE)
OPTIONS = ["--require-hashes", "--no-deps", "--only-binary=:all:", "--quiet", "--disable-pip-version-check"]


def lock_file(course_root: Path, snapshot: str) -> Path:
    return course_root / FOLDER / "packages" / f"{snapshot}.txt"


def pinned(lock: Path) -> list[str]:
    """The names of the packages that a lock pins; none where it does not exist."""
    return PIN.findall(lock.read_text(encoding="utf-8")) if lock.is_file() else []


def folder(lock: Path) -> Path:
    """Where the packages lie once they are installed: another lock or another Python has a folder of its own."""
    digest = hashlib.sha256(lock.read_bytes()).hexdigest()[:12]
    version = f"py{sys.version_info.major}{sys.version_info.minor}"
    return cache.home() / "packages" / f"{lock.stem}-{digest}-{version}"


def have(lock: Path) -> bool:
    return not lock.is_file() or folder(lock).is_dir()


def install(lock: Path) -> Path | None:
    """The folder of the lock's packages, installed unless it is there; None where nothing is pinned.

    pip takes them from the user's configured index. SnapshotError in one line when it cannot, or a hash is wrong.
    """
    if not lock.is_file():
        return None
    target = folder(lock)
    if not target.is_dir():
        made = target.with_suffix(".new")
        shutil.rmtree(made, ignore_errors=True)
        try:
            made.parent.mkdir(parents=True, exist_ok=True)
            _pip(["install", *OPTIONS, "--target", str(made), "--requirement", str(lock)])
            made.rename(target)
        except OSError as error:
            raise SnapshotError(f"the packages of {lock.name} cannot be installed: {error}") from None
        finally:
            shutil.rmtree(made, ignore_errors=True)
    return target


def _pip(arguments: list[str]) -> None:
    command = [sys.executable, "-m", "pip", *arguments]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=PIP_S)
    except subprocess.TimeoutExpired:
        raise SnapshotError(f"pip was not done in {PIP_S} s") from None
    if done.returncode:
        said = [line for line in done.stderr.strip().splitlines() if "ERROR" in line or "No module" in line]
        raise SnapshotError(f"pip could not install what {Path(arguments[-1]).name} pins: {(said or ['?'])[-1]}")
