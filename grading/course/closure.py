"""Which files of mini_infra a probe and its holes need: the import closure, read and never run."""

import ast
from functools import lru_cache
from pathlib import Path

from grading.course.marked import CourseError
from grading.course.syntax import parse

PACKAGE = "mini_infra"


def closure(root: Path, start: list[str]) -> list[str]:
    """Paths in mini_infra/ that the files `start` need, `start`'s own included, sorted; all from the root `root`.

    An import inside a function counts, and so does the `__init__.py` of every package on the way. Files of `start`
    outside mini_infra (probes.py) are read but not listed. CourseError for an import of what is not there.
    """
    seen: set[str] = set()
    waiting = list(start)
    while waiting:
        path = waiting.pop()
        if path not in seen:
            seen.add(path)
            waiting += _needs(root, path)
    return sorted(path for path in seen if path.startswith(PACKAGE + "/"))


def _needs(root: Path, path: str) -> list[str]:
    """The files that one file imports, and the packages that it stands in."""
    try:
        content = (root / path).read_bytes()
    except FileNotFoundError:
        raise CourseError(f"{path}: no such file") from None
    found = _packages(root, path)
    for name, optional, line in _imports(content, path):
        found += _files(root, name, optional, f"{path}:{line}")
    return found


@lru_cache(maxsize=1024)
def _imports(content: bytes, path: str) -> list[tuple[str, bool, int]]:
    """(dotted name, may also be a plain attribute, line) of all that a file imports from mini_infra."""
    try:
        tree = parse(content, path)
    except SyntaxError as error:
        raise CourseError(f"{path}:{error.lineno or 1}: {error.msg}") from None
    except ValueError as error:  # a NUL, in later Pythons
        raise CourseError(f"{path}: cannot be parsed: {error}") from None
    found = [(name, optional, node) for node in ast.walk(tree) for name, optional in _imported(node, path)]
    return [(name, optional, node.lineno) for name, optional, node in found if name.split(".")[0] == PACKAGE]


def _imported(node: ast.AST, path: str) -> list[tuple[str, bool]]:
    """(dotted name, may also be a plain attribute) of each name that an import statement asks for."""
    if isinstance(node, ast.Import):
        return [(alias.name, False) for alias in node.names]
    if not isinstance(node, ast.ImportFrom):
        return []
    here = path.split("/")[: -node.level] if node.level else []
    base = ".".join([*here, *(node.module.split(".") if node.module else [])])
    return [(base, False), *((f"{base}.{alias.name}", True) for alias in node.names)]


def _files(root: Path, name: str, optional: bool, where: str) -> list[str]:
    """The file of a module in mini_infra, or a package's `__init__.py`."""
    path = name.replace(".", "/")
    if (root / f"{path}.py").is_file():
        return [f"{path}.py"]
    if (root / path).is_dir():
        return _packages(root, f"{path}/x")
    if optional:
        return []
    raise CourseError(f"{where}: imports {name}, which {PACKAGE}/ does not have")


def _packages(root: Path, path: str) -> list[str]:
    """The `__init__.py` of every package that a file of mini_infra stands in."""
    parts = path.split("/")
    if parts[0] != PACKAGE:
        return []
    inits = ["/".join([*parts[:depth], "__init__.py"]) for depth in range(1, len(parts))]
    return [one for one in inits if (root / one).is_file()]
