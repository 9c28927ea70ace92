"""The pinned upstream releases: upstream_snapshots/*.yaml, locks that hold names and hashes, never a line of source."""

from pathlib import Path
from typing import Annotated
from urllib.parse import quote

from pydantic import BaseModel, ConfigDict, Field

from grading.course.marked import CourseError, Marked
from grading.course.models import Anchor

FOLDER = "upstream_snapshots"
Digest = Annotated[str, Field(pattern=r"^([0-9a-f]{64})?$")]


class SnapshotError(CourseError):
    """A snapshot that is not here, or cannot be had; the message says what to do."""


class Mark(BaseModel):
    """Where an anchor stands: first and last line, and a hash of its normalised source (anchors.py)."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    lines: tuple[int, int]
    source: str = Field(pattern=r"^[0-9a-f]{16}$")


class Lock(BaseModel):
    """One pinned release.

    With `archive` it is a file of the package registry, known by `sha256` and `size`; without, the files of commit
    `ref` of `repository`. `tree` is the digest of the files that are kept of it (cache.py), in either case.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    name: str
    repository: str = Field(pattern=r"^https://[^\s?#]+$")
    ref: str = Field(pattern=r"^[A-Za-z0-9][\w./+-]*$", description="tag or commit")
    version: str = Field(pattern=r"^[A-Za-z0-9][\w.+-]*$")
    licence: str
    archive: str = Field(default="", pattern=r"^([A-Za-z0-9][\w.+-]*\.(whl|zip|tar\.gz))?$")
    sha256: Digest = ""
    size: int | None = Field(default=None, ge=1, description="of the archive, in bytes")
    package: str = Field(default="", description="the top folder of its modules, where it is not called `name`")
    below: str = Field(default="", description="the folder of the repository from which the archive's paths count")
    keep: list[str] = Field(default=[], description="patterns of the paths that are unpacked; none: all")
    tree: Digest = ""
    anchors: dict[Anchor, Mark] = {}

    @property
    def top(self) -> str:
        """The first part of its modules' names: megatron for megatron-core."""
        return self.package or self.name

    def permalink(self, path: str, first: int, last: int) -> str:
        """The address of lines `first` to `last` of `path` (from the repository's root) at the pinned ref."""
        lines = f"#L{first}" if first == last else f"#L{first}-L{last}"
        root = self.repository.removesuffix("/").removesuffix(".git")
        return f"{root}/blob/{quote(self.ref)}/{quote(path)}{lines}"

    def in_repository(self, path: str) -> str:
        """A path of the snapshot as it counts from the repository's root."""
        return f"{self.below}/{path}" if self.below else path

    def in_snapshot(self, path: str) -> str:
        """A path from the repository's root as it counts in the snapshot; both kinds are taken."""
        return path.removeprefix(f"{self.below}/") if self.below else path


def load(course_root: Path) -> dict[str, Lock]:
    """The locks by name; none where the course pins nothing. CourseError names file and line."""
    return {path.stem: _read(path) for path in sorted((course_root / FOLDER).glob("*.yaml"))}


def pick(course_root: Path, names: list[str]) -> list[Lock]:
    """The locks called `names`, or all. SnapshotError for a name that the course does not pin."""
    locks = load(course_root)
    for name in names:
        if name not in locks:
            raise SnapshotError(f"no snapshot {name} in this course; it has {', '.join(locks) or 'none'}")
    return [locks[name] for name in names or locks]


def _read(path: Path) -> Lock:
    marked = Marked(path, f"{FOLDER}/{path.name}")
    lock = marked.model(Lock)
    if lock.name != path.stem:
        raise marked.error(("name",), f"name is {lock.name}, but the file is {path.name}")
    if lock.archive and not (lock.sha256 and lock.size):
        raise marked.error(("archive",), f"{lock.archive} needs its sha256 and its size")
    return lock
