"""Which definitions a test reaches, found by reading: its own code, the probes it asks for, what those call, and so on.

Everything goes by name. A name stands for each definition of the branch that is called so, a method's only where its
class is reached too; a text that could be a name counts as one, for probes and operations are asked for by text. So a
test may be said to reach more than it runs, and hardly ever less.
"""

import ast
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from fnmatch import filter as matching

from grading.course.holes import HoleError, changes
from grading.course.inserts import carried
from grading.course.spans import DEFINITIONS, FUNCTIONS, module
from grading.course.trees import Tree

NAME_LIKE = re.compile(r"[A-Za-z_*][\w.*]*")
FIXTURE = "lab"  # what a test asks of it is no name of the branch
Place = tuple[str, str]  # path, qualified name


@dataclass(frozen=True)
class _Part:
    """A piece of code that is called `name`, and the names that stand in it; a method has the class that it is of."""

    place: Place
    name: str
    names: frozenset[str]
    of: Place | None = None


class Reach:
    """What the test functions of the files `tests` reach in them and in `sources`; both are path -> Python.

    HoleError where one of them does not parse.
    """

    def __init__(self, sources: dict[str, str], tests: dict[str, str]):
        files = {path: module(text).tree for path, text in (sources | tests).items()}
        self._parts = [part for path, text in (sources | tests).items() for part in _parts(path, text)]
        self._known = {part.name for part in self._parts}
        always = set().union(*(self._at_import(files[path]) for path in sources))
        self._of = {
            (path.rpartition("/")[2], part.name): self._closure(always | part.names)
            for path in tests
            for part in self._parts
            if part.place[0] == path and part.name.startswith("test")
        }

    def touches(self, test_id: str, changed: Iterable[Place]) -> bool:
        """Whether a test ("test_public.py::test_x[label]") reaches one of the places; a test nobody knows does."""
        file, _, name = test_id.partition("[")[0].partition("::")
        reached = self._of.get((file, name))
        return reached is None or any(place in reached for place in changed)

    def _closure(self, names: set[str]) -> set[Place]:
        """Everything that some names stand for, and what that leads to."""
        found: set[Place] = set()
        while True:
            told = self._spelt(names)
            fresh = [
                part
                for part in self._parts
                if part.place not in found and part.name in told and part.of in (None, *found)
            ]
            if not fresh:
                return found
            found |= {part.place for part in fresh}
            names = names.union(*(part.names for part in fresh))

    def _spelt(self, names: set[str]) -> set[str]:
        """The names, and those that fit what is put together when the code runs: f"dist_{op}"."""
        patterns = [name for name in names if "*" in name]
        return names.union(*(matching(self._known, pattern) for pattern in patterns))

    def _at_import(self, tree: ast.Module) -> set[str]:
        """What an import runs, for every test: statements that call, and decorators of the branch's own."""
        found: set[str] = set()
        for node in tree.body:
            if isinstance(node, DEFINITIONS):
                decorators = set().union(*map(_names, node.decorator_list))
                found |= decorators | {node.name} if decorators & self._known else set()
            elif any(isinstance(inner, ast.Call) for inner in ast.walk(node)):
                found |= _names(node)
        return found


def changed_places(old: Tree, new: Tree) -> set[Place] | None:
    """The definitions in which two versions of the same files part; None where more than definitions did."""
    found: set[Place] = set()
    for path in (path for path in new if new[path] != old[path]):
        try:
            parted = changes(old[path].decode("utf-8-sig"), new[path].decode("utf-8-sig"))
        except HoleError:
            return None
        if parted.imports or parted.other:
            return None
        found |= {(path, name) for name in [*parted.changed, *parted.added]}
    return found


def _parts(path: str, text: str) -> Iterator[_Part]:
    """Functions, classes and their methods, and what the module assigns or imports under another name."""
    source = module(text)
    for qualname, one in carried(source).items():
        names = _class_names(one.node) if one.kind == "class" else _names(one.node)
        yield _Part((path, qualname), one.node.name, frozenset(names), (path, one.scope) if one.scope else None)
    for node in source.tree.body:
        for name in _bound(node):
            yield _Part((path, name), name, frozenset(_names(node)))


def _bound(node: ast.stmt) -> list[str]:
    if isinstance(node, ast.Import | ast.ImportFrom):
        return [alias.asname for alias in node.names if alias.asname]
    if isinstance(node, DEFINITIONS):
        return []
    return [inner.id for inner in ast.walk(node) if isinstance(inner, ast.Name) and isinstance(inner.ctx, ast.Store)]


def _class_names(node: ast.ClassDef) -> set[str]:
    """A class brings its header, its statements, and the methods that nobody has to call by name.

    Those are the dunder methods and, where it has a base, all of them: the base may call any.
    """
    found = set().union(*map(_names, [*node.bases, *node.keywords, *node.decorator_list]))
    for inner in node.body:
        if not isinstance(inner, FUNCTIONS):
            found |= _names(inner)
        elif node.bases or inner.name.startswith("__"):
            found.add(inner.name)
    return found


def _names(node: ast.AST) -> set[str]:
    """The identifiers in a piece of code, those of arguments (fixtures) and of texts that could be one included."""
    found: set[str] = set()
    for inner in ast.walk(node):
        if isinstance(inner, ast.Name):
            found.add(inner.id)
        elif isinstance(inner, ast.Attribute) and not (isinstance(inner.value, ast.Name) and inner.value.id == FIXTURE):
            found.add(inner.attr)
        elif isinstance(inner, ast.arg):
            found.add(inner.arg)
        elif isinstance(inner, ast.alias):
            found.add(inner.name.rpartition(".")[2])
        elif isinstance(inner, ast.Constant | ast.JoinedStr):
            found |= _text_names(inner)
    return found


def _text_names(node: ast.Constant | ast.JoinedStr) -> set[str]:
    """ "dist_mean", the last part of "mainline.masked", and "dist_*" for f"dist_{op}"."""
    pieces = node.values if isinstance(node, ast.JoinedStr) else [node]
    text = "".join(str(piece.value) if isinstance(piece, ast.Constant) else "*" for piece in pieces)
    named = isinstance(getattr(node, "value", ""), str) and NAME_LIKE.fullmatch(text) and text.strip("*.")
    return {text.rpartition(".")[2]} if named else set()
