"""Archives of strangers, unpacked: plain files below one folder, so many and so large at most, or nothing at all."""

import gzip
import io
import stat
import tarfile
import zipfile
import zlib
from collections.abc import Iterable, Iterator
from fnmatch import fnmatchcase
from pathlib import Path, PurePosixPath
from typing import BinaryIO

from grading.course.snapshots import SnapshotError

MOST_FILES = 20_000
MOST_BYTES = 1 << 29  # unpacked, all files together; the largest pinned release has a quarter of it
LONGEST_NAME = 512
BLOCK = 1 << 20
BROKEN = (tarfile.TarError, zipfile.BadZipFile, zlib.error, EOFError, OSError, NotImplementedError, RuntimeError)
Member = tuple[str, BinaryIO]  # path as the archive says it, content


def unpack(archive: Path, into: Path, keep: list[str]) -> None:
    """Unpack into the empty folder `into` what matches a pattern of `keep`; no pattern: everything.

    A source archive (.tar.gz) has one folder at its top, which is left out. SnapshotError for an archive that is
    damaged, or that holds a link, a device, an absolute path, a path with `..`, a name twice, or too much.
    """
    members = _zip(archive) if archive.suffix in (".whl", ".zip") else _tar(archive)
    try:
        write(members, into, keep)
    except SnapshotError as error:
        raise SnapshotError(f"{archive.name}: {error}; nothing of it was kept") from None
    except BROKEN as error:
        raise SnapshotError(f"{archive.name} cannot be unpacked ({error}); nothing of it was kept") from None


def write(members: Iterable[Member], into: Path, keep: list[str]) -> None:
    """The wanted members as files below `into`, within the limits of count and size."""
    left = MOST_BYTES
    for count, (name, content) in enumerate(members, 1):
        if count > MOST_FILES:
            raise SnapshotError(f"holds more than {MOST_FILES} files")
        path = _safe(name)
        if not keep or any(fnmatchcase(path, pattern) for pattern in keep):
            left -= _copy(content, into, path, left)


def lock_up(top: Path) -> None:
    """Take the write bits off everything below a folder, and off the folder."""
    for one in top.rglob("*"):
        one.chmod(0o555 if one.is_dir() else 0o444)
    top.chmod(0o555)


def _copy(content: BinaryIO, into: Path, path: str, left: int) -> int:
    """Bytes written. What counts is what comes out, not what a header promises."""
    target, written = into / path, 0
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        with target.open("xb") as file:
            while block := content.read(BLOCK):
                written += len(block)
                if written > left:
                    raise SnapshotError(f"unpacks to more than {MOST_BYTES >> 20} MiB")
                file.write(block)
    except (FileExistsError, NotADirectoryError):
        raise SnapshotError(f"holds {path!r} twice") from None
    return written


def _safe(name: str) -> str:
    """The name, where it can only mean a file below the folder."""
    parts = PurePosixPath(name).parts
    plain = name.isprintable() and "\\" not in name and ":" not in name and len(name) <= LONGEST_NAME
    if not parts or name.startswith("/") or ".." in parts or not plain:
        raise SnapshotError(f"holds a file called {name[:80]!r}, which no release needs")
    return "/".join(parts)


def _zip(archive: Path) -> Iterator[Member]:
    with zipfile.ZipFile(archive) as opened:
        for one in opened.infolist():
            kind = stat.S_IFMT(one.external_attr >> 16)
            if kind not in (0, stat.S_IFREG, stat.S_IFDIR):
                raise SnapshotError(f"holds {one.filename[:80]!r}, which is no plain file")
            if one.is_dir():
                _safe(one.filename)
                continue
            with opened.open(one) as content:
                yield one.filename, content


def _tar(archive: Path) -> Iterator[Member]:
    """The members of a source archive, without the folder at its top."""
    with gzip.open(archive) as plain, tarfile.open(fileobj=_Capped(plain), mode="r|") as opened:
        for one in opened:
            path = _safe(one.name)
            if one.isdir():
                continue
            if not one.isreg():
                raise SnapshotError(f"holds {path[:80]!r}, which is no plain file")
            yield path.partition("/")[2] or path, opened.extractfile(one)


class _Capped(io.RawIOBase):
    """A stream that errs where it goes on too long: headers of a tar file are read before they are judged."""

    def __init__(self, stream: BinaryIO):
        self._stream, self._left = stream, 2 * MOST_BYTES

    def read(self, size: int = -1) -> bytes:
        block = self._stream.read(min(size, BLOCK) if size >= 0 else BLOCK)
        self._left -= len(block)
        if self._left < 0:
            raise SnapshotError(f"unpacks to more than {2 * MOST_BYTES >> 20} MiB")
        return block
