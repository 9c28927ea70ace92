"""The models of lab.yaml and course.yaml: what may stand in them, and what follows from it."""

import re
from pathlib import Path
from typing import Annotated, Literal

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, PrivateAttr

LAB_ID = re.compile(r"l\d\d", re.ASCII)


def _inside(path: str) -> str:
    parts = path.split("/")
    if path.startswith("/") or "\\" in path or not all(parts) or {".", ".."} & set(parts):
        raise ValueError(f"'{path}' must be a path inside the repository, with '/' between its parts")
    return path


def _hole(name: str) -> str:
    path, mark, qualname = name.partition("::")
    if not mark or not re.fullmatch(r"\w+(\.\w+)*", qualname) or not path.endswith(".py"):
        raise ValueError(f"'{name}' must be written path.py::Class.method")
    return _inside(path) + mark + qualname


def _ours(path: str) -> str:
    if not path.startswith("mini_infra/") or not path.partition("::")[0].endswith(".py"):
        raise ValueError(f"'{path}' must be a Python file in mini_infra/: nothing else is a learner's to edit")
    return path


def _of_snapshot(path: str) -> str:
    if "/" not in path:
        raise ValueError(f"'{path}' must be written snapshot/path: a snapshot's name, then a path in it")
    return path


def _lab_id(name: str) -> str:
    if not LAB_ID.fullmatch(name):
        raise ValueError(f"'{name}' is no lab id; an id is an l and two digits, such as l05")
    return name


RepoPath = Annotated[str, AfterValidator(_inside)]
SnapshotPath = Annotated[str, AfterValidator(_inside), AfterValidator(_of_snapshot)]
Anchor = Annotated[str, AfterValidator(_hole)]
Hole = Annotated[str, AfterValidator(_hole), AfterValidator(_ours)]
Editable = Annotated[str, AfterValidator(_inside), AfterValidator(_ours)]
LabId = Annotated[str, AfterValidator(_lab_id)]


class Model(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class Allow(Model):
    """What a patch may use beyond the starter's own imports."""

    imports: list[str] = []
    builtins: list[str] = []


class Limits(Model):
    """Seconds of one probe and of a whole grading, ranks, and sizes in MiB."""

    probe_s: float = Field(2, gt=0)
    wall_s: float = Field(60, gt=0)
    ranks: int = Field(4, ge=1)
    memory_mb: int = Field(4096, ge=1)
    frame_mb: int = Field(32, ge=1)
    tmp_mb: int = Field(64, ge=1)
    shm_mb: int = Field(16, ge=1)


class MainlineSeal(Model):
    name: str
    snapshot: str
    kinds: list[Literal["differential", "swap", "graft"]]
    packages: list[str] = []
    anchors: list[Anchor] = []
    mistakes: list[str] = Field([], description="known mistakes that upstream, too, tells from the reference")


class Seals(Model):
    mainline: list[MainlineSeal] = []


class Extension(Model):
    """Graded apart: a bonus, never part of a seal."""

    holes: list[Hole] = []
    packages: list[str] = []
    gpu: bool = False


class Lab(Model):
    """One lab.yaml. `holes` are written path.py::Class.method, paths from the repository's root."""

    id: LabId
    slug: Annotated[str, Field(pattern=r"^[a-z0-9_]+$")]
    seed: str = ""
    title: str
    chapter: int = Field(ge=0)
    stars: int = Field(ge=1, le=5)
    hours: float = Field(gt=0)
    needs: list[LabId] = []
    uses: list[LabId] = []
    holes: list[Hole] = Field(min_length=1)
    drop: list[Hole] = []
    editable: list[Editable] = []
    assets: list[RepoPath] = []
    packages: list[str] = []
    preload: list[str] = []
    env: dict[str, str] = {}
    allow: Allow = Allow()
    forbid: list[str] = []
    files: Literal["none", "shared"] = "none"
    limits: Limits = Limits()
    seals: Seals = Seals()
    upstream: list[SnapshotPath] = Field([], description="files that the branch shows beside those of the anchors")
    extensions: dict[str, Extension] = {}
    _folder: Path = PrivateAttr(Path())

    @property
    def folder(self) -> Path:
        """challenges/l05_tensor_parallel_linear, absolute."""
        return self._folder

    @property
    def branch(self) -> str:
        return f"lab/{self.id}"

    @property
    def all_holes(self) -> list[str]:
        """The holes of the lab and of its extensions."""
        return [*self.holes, *(name for one in self.extensions.values() for name in one.holes)]

    @property
    def hole_files(self) -> dict[str, list[str]]:
        """Path -> qualified names of the lab's holes in it."""
        return by_file(self.all_holes)

    @property
    def editable_paths(self) -> list[str]:
        return sorted(self.editable or self.hole_files)


class Chapter(Model):
    id: int = Field(ge=0)
    title: str
    sentence: str


class CourseFile(Model):
    """course.yaml: what is the course's and not a lab's."""

    title: str
    url: str = ""
    mode: Literal["open", "sealed"] = "open"
    hint_after: list[int] = [1, 3, 5]
    solution_after: int = 5
    chapters: list[Chapter]
    order: list[LabId]


def by_file(names: list[str]) -> dict[str, list[str]]:
    """`path::qualname` names as path -> qualified names."""
    files: dict[str, list[str]] = {}
    for name in names:
        path, _, qualname = name.partition("::")
        files.setdefault(path, []).append(qualname)
    return files
