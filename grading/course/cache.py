"""The cache of upstream snapshots, shared by all work trees: one read-only folder a snapshot, known by its content.

A folder is made under another name and renamed, so it is there whole or not at all. Nothing here is ever committed.
"""

import hashlib
import os
from collections.abc import Mapping
from pathlib import Path

from grading.course.snapshots import Lock, SnapshotError

LICENCES = ("LICENSE*", "LICENCE*", "*.dist-info/licenses/LICENSE*", "*.dist-info/METADATA", "PKG-INFO")


def home(environment: Mapping[str, str] = os.environ) -> Path:
    """$MAINLINE_CACHE, else $XDG_CACHE_HOME/mainline, else ~/.cache/mainline."""
    if given := environment.get("MAINLINE_CACHE"):
        return Path(given).expanduser().absolute()
    return Path(environment.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "mainline"


def folder(lock: Lock) -> Path:
    """Where the snapshot lies once it is fetched: paths in it are those of its modules (verl/trainer/…)."""
    return home() / "snapshots" / f"{lock.name}-{lock.version}-{lock.tree[:12]}"


def have(lock: Lock) -> bool:
    return bool(lock.tree) and folder(lock).is_dir()


def need(lock: Lock) -> Path:
    """The snapshot's folder. SnapshotError says which fetch brings it."""
    if not have(lock):
        raise SnapshotError(f"{lock.name} {lock.version} is not fetched yet: labs snapshots fetch {lock.name}")
    return folder(lock)


def read(lock: Lock, path: str) -> str:
    """A file of the snapshot as text. SnapshotError where the snapshot or the file is missing."""
    try:
        return (need(lock) / path).read_bytes().decode()
    except (FileNotFoundError, NotADirectoryError, IsADirectoryError):
        raise SnapshotError(f"{lock.name} {lock.version} has no file {path}") from None
    except UnicodeDecodeError:
        raise SnapshotError(f"{lock.name} {lock.version}: {path} is not UTF-8 text") from None


def licences(lock: Lock) -> dict[str, bytes]:
    """The snapshot's licence files; where it ships none, its metadata, which names the licence. Path -> content."""
    top = need(lock)
    for pattern in LICENCES:
        if found := sorted(one for one in top.glob(pattern) if one.is_file()):
            return {one.relative_to(top).as_posix(): one.read_bytes() for one in found}
    raise SnapshotError(f"{lock.name} {lock.version} holds neither a licence nor metadata")


def files(top: Path) -> dict[str, Path]:
    """POSIX path -> file, for every file below a folder, in the order of the paths."""
    found = {one.relative_to(top).as_posix(): one for one in top.rglob("*") if one.is_symlink() or one.is_file()}
    return dict(sorted(found.items()))


def digest(top: Path) -> str:
    """SHA-256 over the names and contents of the files below a folder; a link counts as what it says."""
    total = hashlib.sha256()
    for path, file in files(top).items():
        content = b"-> " + os.fsencode(os.readlink(file)) if file.is_symlink() else file.read_bytes()
        total.update(f"{len(path.encode())} {path} {len(content)}\n".encode() + content)
    return total.hexdigest()


def state(lock: Lock) -> str:
    """ "good", "damaged" (its files are not those of the lock) or "missing"."""
    if not have(lock):
        return "missing"
    return "good" if digest(folder(lock)) == lock.tree else "damaged"
