"""The course: course.yaml, one lab.yaml a lab, and what has to hold between them."""

import difflib
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from grading.course.marked import CourseError, Marked
from grading.course.models import Chapter, CourseFile, Extension, Lab, Limits, by_file
from grading.course.spans import HoleError, module
from grading.course.stored import stored_course

__all__ = ["Chapter", "Course", "CourseError", "Extension", "Lab", "Limits", "UnknownLab", "by_file", "find_course"]

COURSE_FILE = "challenges/course.yaml"


class UnknownLab(CourseError):
    """A lab that the course does not have."""


@dataclass(frozen=True)
class Course:
    """A course read and checked; `labs` in the course's order."""

    root: Path
    title: str
    url: str
    mode: str
    hint_after: list[int]
    solution_after: int
    chapters: list[Chapter]
    order: list[str]
    labs: list[Lab] = field(repr=False)

    @classmethod
    def load(cls, root: Path) -> "Course":
        """The course at `root`. CourseError names the file and the line of the first thing that is wrong."""
        root = Path(root).resolve()
        source = Marked(root / COURSE_FILE, COURSE_FILE)
        given = source.model(CourseFile)
        read = [_read_lab(root, source, given, index) for index in range(len(given.order))]
        labs = [lab for lab, _ in read]
        _check_order(given, read)
        if given.mode == "open" or (root / "mini_infra").is_dir():  # a sealed course's catalogue has no answers
            _check_files(root, read)
        return cls(root=root, labs=labs, **{name: getattr(given, name) for name in CourseFile.model_fields})

    def lab(self, name: str) -> Lab:
        for lab in self.labs:
            if lab.id == name:
                return lab
        raise UnknownLab(f"no lab {name} in this course; it has {', '.join(self.order) or 'none yet'}")


def find_course(start: Path, explicit: Path | None = None) -> Course:
    """The course at `explicit`, else of the work tree around `start`, else of the repository's main or origin/main.

    On a lab branch `challenges/` is not checked out: main is then read out of the object store into a cache in the
    git directory. CourseError where there is none.
    """
    if explicit is not None:
        return Course.load(explicit)
    start = Path(start).resolve()
    for folder in [start, *start.parents]:
        if (folder / COURSE_FILE).is_file():
            return Course.load(folder)
    if root := stored_course(start, COURSE_FILE):
        return Course.load(root)
    raise CourseError(
        f"no course here: neither a folder above {start} nor main or origin/main of its repository has {COURSE_FILE}; "
        "go to the course's repository, or name it with --course PATH"
    )


def _read_lab(root: Path, source: Marked, given: CourseFile, index: int) -> tuple[Lab, Marked]:
    name = given.order[index]
    if name in given.order[:index]:
        raise source.error(("order", index), f"{name} stands in the order twice")
    folders = sorted((root / "challenges").glob(f"{name}_*/"))
    if len(folders) != 1:
        found = " and ".join(one.name for one in folders) or "none"
        raise source.error(("order", index), f"{name} needs one folder challenges/{name}_<slug>; there is {found}")
    shown = f"challenges/{folders[0].name}/lab.yaml"
    marked = Marked(folders[0] / "lab.yaml", shown)
    lab = marked.model(Lab)
    if folders[0].name != f"{lab.id}_{lab.slug}":
        key = "id" if lab.id != name else "slug"
        raise marked.error((key,), f"id and slug make {lab.id}_{lab.slug}, but the folder is {folders[0].name}")
    if lab.chapter not in [one.id for one in given.chapters]:
        raise marked.error(("chapter",), f"{COURSE_FILE} has no chapter {lab.chapter}")
    lab._folder = folders[0]
    return lab, marked


def _holes(lab: Lab) -> Iterator[tuple[tuple, str]]:
    """(place in lab.yaml, name) of each hole, those of extensions included."""
    for index, name in enumerate(lab.holes):
        yield ("holes", index), name
    for title, extension in lab.extensions.items():
        for index, name in enumerate(extension.holes):
            yield ("extensions", title, "holes", index), name


def _check_order(given: CourseFile, read: list[tuple[Lab, Marked]]) -> None:
    """`uses` and `needs` name earlier labs only, and a name is a hole of one lab."""
    owners: dict[str, str] = {}
    for place, (lab, marked) in enumerate(read):
        for index, other in enumerate(lab.uses):
            if other not in given.order[:place]:
                says = f"{lab.id} uses {other}, which does not come before {lab.id} in the order of {COURSE_FILE}"
                raise marked.error(("uses", index), says)
        for loc, name in _holes(lab):
            if name in owners:
                raise marked.error(loc, f"{name} is already a hole of {owners[name]}")
            owners[name] = lab.id


def _check_files(root: Path, read: list[tuple[Lab, Marked]]) -> None:
    """Every hole, every `drop` and every editable file is there."""
    for lab, marked in read:
        for loc, name in _holes(lab):
            if _definition(root, marked, loc, name).kind == "class":
                raise marked.error(loc, f"{name} is a class; a hole is a function or a method")
        for index, name in enumerate(lab.drop):
            _definition(root, marked, ("drop", index), name)
        for index, path in enumerate(lab.editable):
            if not (root / path).is_file():
                raise marked.error(("editable", index), f"no file {path}")
        for index, path in enumerate(lab.assets):
            if not (lab.folder / path).exists():
                raise marked.error(("assets", index), f"no {path} in {lab.folder.name}")
        for number, seal in enumerate(lab.seals.mainline):
            for index, name in enumerate(seal.mistakes):
                if not (lab.folder / f"mistakes/{name}.py").is_file():
                    raise marked.error(("seals", "mainline", number, "mistakes", index), f"no mistakes/{name}.py")


def _definition(root: Path, marked: Marked, loc: tuple, name: str):
    path, _, qualname = name.partition("::")
    try:
        return module((root / path).read_bytes().decode()).find(qualname)
    except (FileNotFoundError, IsADirectoryError, NotADirectoryError):
        sources = [one.relative_to(root).as_posix() for one in (root / "mini_infra").rglob("*.py")]
        near = difflib.get_close_matches(path, sources, 1, 0.7)
        hint = f" (did you mean {near[0]}?)" if near else ""
        raise marked.error(loc, f"no file {path}{hint}") from None
    except UnicodeDecodeError:
        raise marked.error(loc, f"{path} is not UTF-8 text") from None
    except HoleError as error:
        raise marked.error(loc, f"{path}: {error}") from None
