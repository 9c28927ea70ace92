"""The trees of a lab's branch: snapshot, starter, reference, and the starter with a known mistake."""

import ast
import hashlib
import json
import re
import tomllib
from pathlib import Path

from grading.course.catalog import Course, CourseError, Lab, by_file
from grading.course.closure import closure
from grading.course.holes import HoleError, edit, graft
from grading.course.syntax import parse

Tree = dict[str, bytes]  # POSIX path -> content

SECTION = re.compile(r"^# file: *(\S+)[ \t]*$", re.MULTILINE)
IGNORED = "__pycache__/\n.pytest_cache/\n.venv/\n*.egg-info/\n"


def stub_message(lab_id: str, qualname: str) -> str:
    """What an unwritten hole says: "l05: write ColumnParallelLinear.forward"."""
    return f"{lab_id}: write {qualname}"


def snapshot_tree(course: Course, lab: Lab) -> Tree:
    """The files that the lab stands on: its holes and helpers (`drop`) taken out, other labs' holes stubbed."""
    return _sources(course, lab, own="absent")


def starter_tree(course: Course, lab: Lab, engine: str = "") -> Tree:
    """The branch as the learner gets it. `engine`: where the engine is installed from, "" = not a dependency."""
    return _branch(course, lab, _sources(course, lab, own="stub"), engine)


def reference_tree(course: Course, lab: Lab, starter: Tree | None = None) -> Tree:
    """The starter (computed unless given) with the lab's holes filled."""
    return {**(starter or starter_tree(course, lab)), **_sources(course, lab, own="full")}


def patched_tree(course: Course, lab: Lab, patch: str | None) -> Tree:
    """The reference with a mistake's patch on top; the starter where `patch` is None.

    `patch` holds only what is wrong; a line "# file: path" begins the part for that file, and without one it is
    for the lab's single editable file. CourseError where it does not fit.
    """
    if patch is None:
        return starter_tree(course, lab)
    tree = reference_tree(course, lab)
    for path, text in _sections(lab, patch).items():
        try:
            tree[path] = graft(tree[path].decode(), text).encode()
        except HoleError as error:
            raise CourseError(f"the patch of {path} does not fit: {error}") from None
    return tree


def shows(course: Course, lab: Lab) -> list[str]:
    """The holes of other labs whose reference bodies the branch shows: those of `uses` in files of the branch."""
    files = set(_files(course, lab))
    named = [name for other in lab.uses for name in course.lab(other).all_holes]
    return [name for name in named if name.partition("::")[0] in files]


def _files(course: Course, lab: Lab) -> list[str]:
    """The files of mini_infra that the branch carries: what its probes, its lesson and its holes need."""
    programs = [lab.folder / "probes.py", *_lesson(lab)]
    start = [path.relative_to(course.root).as_posix() for path in programs]
    return closure(course.root, [*start, *lab.hole_files, *lab.editable_paths])


def _lesson(lab: Lab) -> list[Path]:
    """lesson.py, where the lab has one."""
    return [path for path in [lab.folder / "lesson.py"] if path.is_file()]


def _sources(course: Course, lab: Lab, own: str) -> Tree:
    """mini_infra's part of the branch, with the lab's own holes "absent", "stub" or "full"."""
    tree = {path: (course.root / path).read_bytes() for path in _files(course, lab)}
    for path in tree:
        stubs, removed = _edits(course, lab, own, path)
        if stubs or removed:
            try:
                tree[path] = edit(tree[path].decode(), stubs, removed).encode()
            except HoleError as error:
                raise CourseError(f"{path}: {error}") from None
    return tree


def _edits(course: Course, lab: Lab, own: str, path: str) -> tuple[dict[str, str], list[str]]:
    """For one file: qualified name -> message of the holes to stub, and the names to take out."""
    stubs: dict[str, str] = {}
    removed: list[str] = []
    for other in course.labs:
        if other.id in lab.uses or (other.id == lab.id and own == "full"):
            continue
        holes = other.hole_files.get(path, [])
        if other.id == lab.id and own == "absent":
            removed += holes
        else:
            stubs |= {name: stub_message(other.id, name) for name in holes}
        removed += by_file(other.drop).get(path, [])
    return stubs, removed


def _branch(course: Course, lab: Lab, sources: Tree, engine: str) -> Tree:
    """The whole branch: sources, the lab's own files, and what pip and pytest need."""
    tree = dict(sources)
    tree["README.md"] = _read(lab, "task.md")
    if engine:
        tree["README.md"] += INSTALL.format(requirement=_requirement(engine)).encode()
    tree["probes.py"] = _read(lab, "probes.py")
    tree |= {path.name: path.read_bytes() for path in _lesson(lab)}
    for name in ["tests", *lab.assets]:
        tree |= _below(lab, name)
    project = _project(course.root)
    tree["pyproject.toml"] = _pyproject(lab, project, engine).encode()
    tree[".gitignore"] = IGNORED.encode()
    about = {"id": lab.id, "engine": project["version"], "inputs": tree_digest(tree), "run": run_settings(lab)}
    tree[".lab.json"] = (json.dumps(about, indent=2) + "\n").encode()
    return dict(sorted(tree.items()))


INSTALL = """
## Without `labs`

Plain pytest runs the public tests, without a jail, once the engine is installed, and with it the pinned torch:

```
pip install "{requirement}"
pytest
```
"""


def _requirement(engine: str) -> str:
    """What pip is told: the URL or folder that was given, never a bare name, which anybody may register."""
    return f"mainline @ {engine if '://' in engine else Path(engine).resolve().as_uri()}"


def run_settings(lab: Lab) -> dict:
    """What the judge must know of a lab to run its probes; a branch carries it for plain pytest."""
    return {
        "limits": lab.limits.model_dump(),
        "packages": list(lab.packages),
        "preload": list(lab.preload),
        "files": lab.files == "shared",
        "env": dict(lab.env),
    }


def tree_digest(tree: Tree) -> str:
    """SHA-256 over the names and contents of a tree."""
    digest = hashlib.sha256()
    for path, content in sorted(tree.items()):
        digest.update(f"{len(path.encode())} {path} {len(content)}\n".encode() + content)
    return digest.hexdigest()


def _read(lab: Lab, name: str) -> bytes:
    try:
        return (lab.folder / name).read_bytes()
    except FileNotFoundError:
        raise CourseError(f"challenges/{lab.folder.name}/{name}: no such file; every lab has one") from None


def _below(lab: Lab, name: str) -> Tree:
    """A file of the lab's folder, or all files below a folder of it, under the same names."""
    top = lab.folder / name
    files = [top] if top.is_file() else sorted(one for one in top.rglob("*") if one.is_file())
    kept = [one for one in files if "__pycache__" not in one.parts]
    return {one.relative_to(lab.folder).as_posix(): one.read_bytes() for one in kept}


def _project(root: Path) -> dict:
    """[project] of the course's pyproject.toml: the engine's version and pinned dependencies."""
    try:
        return tomllib.loads((root / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    except FileNotFoundError:
        raise CourseError("pyproject.toml: no such file; a lab's branch pins what it says") from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError, KeyError) as error:
        raise CourseError(f"pyproject.toml: {error}") from None


def _pyproject(lab: Lab, project: dict, engine: str) -> str:
    wanted = [*project["dependencies"], *lab.packages, *([_requirement(engine)] if engine else [])]
    lines = "".join(f"    {json.dumps(one)},\n" for one in wanted)
    return (
        f'[project]\nname = "lab-{lab.id}"\nversion = "0"\n'
        f"requires-python = {json.dumps(project['requires-python'])}\n"
        f"dependencies = [\n{lines}]\n\n"
        '[tool.setuptools]\npackages = []\n\n[tool.pytest.ini_options]\ntestpaths = ["tests"]\n'
    )


def _sections(lab: Lab, patch: str) -> dict[str, str]:
    """Path -> the part of a patch that is for it."""
    pieces = SECTION.split(patch)
    if len(pieces) == 1:
        if len(lab.editable_paths) != 1:
            raise CourseError(
                f"the patch has no '# file: path' line, and {lab.id} has {len(lab.editable_paths)} editable files: "
                + ", ".join(lab.editable_paths)
            )
        return {lab.editable_paths[0]: patch}
    paths = pieces[1::2]
    for path in paths:
        if path not in lab.editable_paths or paths.count(path) > 1:
            raise CourseError(
                f"the patch has a part for {path}; {lab.id} wants one part a file, for {', '.join(lab.editable_paths)}"
            )
    if not _docstring_only(pieces[0]):
        raise CourseError("the patch has code above its first '# file: path' line; say which file it is for")
    return dict(zip(paths, pieces[2::2], strict=True))


def _docstring_only(text: str) -> bool:
    try:
        return all(isinstance(node, ast.Expr) for node in parse(text).body)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return False
