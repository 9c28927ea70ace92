"""The pinned upstream releases: the heads of upstream_snapshots/*.yaml."""

from pathlib import Path
from urllib.parse import quote

from pydantic import BaseModel, ConfigDict, Field

from grading.course.marked import Marked

FOLDER = "upstream_snapshots"


class Lock(BaseModel):
    """One pinned release. The file may say more below (anchors, files); that is for other readers."""

    model_config = ConfigDict(extra="ignore", frozen=True)

    name: str
    repository: str = Field(pattern=r"^https://[^\s?#]+$")
    ref: str = Field(pattern=r"^[A-Za-z0-9][\w./+-]*$", description="tag or commit")
    version: str
    licence: str
    archive: str = ""
    sha256: str = Field(default="", pattern=r"^([0-9a-f]{64})?$")
    size: int | None = Field(default=None, description="of the archive, in bytes")

    def permalink(self, path: str, first: int, last: int) -> str:
        """The address of lines `first` to `last` of `path` (from the repository's root) at the pinned ref."""
        lines = f"#L{first}" if first == last else f"#L{first}-L{last}"
        root = self.repository.removesuffix("/").removesuffix(".git")
        return f"{root}/blob/{quote(self.ref)}/{quote(path)}{lines}"


def load(course_root: Path) -> dict[str, Lock]:
    """The locks by name; none where the course pins nothing. CourseError names file and line."""
    return {path.stem: _read(path) for path in sorted((course_root / FOLDER).glob("*.yaml"))}


def _read(path: Path) -> Lock:
    marked = Marked(path, f"{FOLDER}/{path.name}")
    lock = marked.model(Lock)
    if lock.name != path.stem:
        raise marked.error(("name",), f"name is {lock.name}, but the file is {path.name}")
    return lock
