"""Grafts: a learner's functions set into the pinned upstream file by their names, with what they need to stand there.

Upstream's decorators stay. Whole definitions are carried, with the helpers and imports that they use and upstream's
file lacks. A function that cannot take upstream's place is not carried, and it is said why.
"""

import ast
import builtins
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace

from grading.course import cache
from grading.course.catalog import Course, Lab
from grading.course.cuts import checked, reindent
from grading.course.inserts import insert, insert_imports
from grading.course.models import by_file
from grading.course.patchfile import unified
from grading.course.signatures import misfits
from grading.course.snapshots import Lock, load
from grading.course.spans import DEFINITIONS, NEWLINE, Definition, HoleError, Module, module, suites
from grading.course.trees import stub_message

MINI = "mini_infra/"
OURS = re.compile(r"^([ \t]*(?:from|import)[ \t]+)mini_infra\.", re.MULTILINE)


@dataclass(frozen=True)
class Graft:
    """One upstream file with a learner's functions in it; `path` counts from the snapshot's root."""

    lock: Lock
    path: str
    old: str
    new: str
    carried: list[str]  # qualified names: the functions, then their helpers
    misfits: list[str]  # a sentence for each function that was left out

    def diff(self) -> str:
        """A unified diff that `git apply` takes at the root of upstream's repository; "" where nothing is carried."""
        return unified(self.old, self.new, self.lock.in_repository(self.path))


def grafts(course: Course, lab: Lab, blobs: Mapping[str, bytes]) -> list[Graft]:
    """A graft for each editable file (path -> content) of a submission that upstream has too.

    SnapshotError where a snapshot is not fetched; HoleError where a file is no Python.
    """
    locks = {lock.top: lock for lock in load(course.root).values()}
    dropped = by_file(lab.drop)
    found = []
    for path, names in sorted(lab.hole_files.items()):
        there = path.removeprefix(MINI)
        lock = locks.get(there.partition("/")[0])
        if lock is None or path not in blobs:
            continue
        given = set(module((course.root / path).read_text(encoding="utf-8")).found) - set(dropped.get(path, []))
        mine = blobs[path].decode()
        written = [name for name in names if stub_message(lab.id, name) not in mine]
        made = graft_file(lock, there, mine, written, given)
        missing = [f"{name} is left out: it is not written yet" for name in names if name not in written]
        found.append(replace(made, misfits=missing + made.misfits))
    return found


def graft_file(lock: Lock, path: str, mine: str, names: list[str], given: set[str] = frozenset()) -> Graft:
    """The definitions `names` of the source `mine` in the snapshot's file `path`.

    `given`: names of `mine` that stand for upstream's own where upstream has them too; all others are new.
    """
    old = cache.read(lock, path)
    carried, wrong, text = [], [], old
    patch = module(OURS.sub(r"\1", mine))
    for name in names:
        try:
            work = _Work(module(text), patch, path, given | set(names) | set(carried))
            work.take(name)
            text = work.done()
            carried += [name, *work.helpers]
        except HoleError as error:
            wrong.append(f"{name} is left out: {error}")
    return Graft(lock, path, old, text, carried, wrong)


class _Work:
    """One function on its way into upstream's file: all of what it needs, or HoleError."""

    def __init__(self, source: Module, patch: Module, path: str, given: set[str]):
        self.source, self.patch, self.path, self.given = source, patch, path, given
        self.helpers: list[str] = []
        self.imports: dict[str, str] = {}
        self.known = bound(source.tree.body)
        self.text = source.text

    def take(self, name: str) -> None:
        """Set one function in the place of upstream's, and note what it needs."""
        mine = self.patch.find(name)
        theirs = self._upstreams(name)
        if wrong := misfits(mine.node, theirs.node):
            raise HoleError("; ".join(wrong))
        self._need(mine)
        self.text = self.text[: theirs.start] + self._in_place(mine, theirs) + self.text[theirs.end :]

    def done(self) -> str:
        """The file with the helpers and imports."""
        text = checked(self.text)
        for name in self.helpers:
            text = insert(text, self.patch, self.patch.find(name))
        return insert_imports(text, list(self.imports.values()))

    def _upstreams(self, name: str) -> Definition:
        if name not in self.source.found:
            raise HoleError(f"{self.path} has no {name}")
        return self.source.find(name)

    def _in_place(self, mine: Definition, theirs: Definition) -> str:
        """Upstream's decorators, those of mine that it has not, and the definition."""
        head = self.source.header(theirs.node)
        known = {ast.unparse(one) for one in theirs.node.decorator_list}
        extra = [text for one in mine.node.decorator_list if (text := ast.unparse(one)) not in known]
        lines = "".join(f"@{text}{self.source.newline}{theirs.indent}" for text in extra)
        bare = replace(mine, start=self.patch.header(mine.node), first_line=mine.node.lineno)
        text = NEWLINE.sub(self.source.newline, reindent(self.patch, bare, theirs.indent))
        return self.source.text[theirs.start : head] + lines + text

    def _need(self, one: Definition) -> None:
        """Note the helpers, methods and imports that a definition uses and upstream's file has not."""
        for name in sorted(free_names(one.node)):
            self._need_name(name)
        for name in sorted(_attributes(one.node)) if one.scope else []:
            method = f"{one.scope}.{name}"
            if method in self.patch.found and method not in self.source.found:
                self._help(method)

    def _need_name(self, name: str) -> None:
        if name in self.known:
            if name in self.patch.found and name not in self.given and not self._same_class(name):
                raise HoleError(f"its helper {name} is something else in {self.path}; give it another name")
        elif name in self.patch.found:
            self._help(name)
        elif statement := _import_of(self.patch, name):
            self.imports[name] = statement
        elif name == "mini_infra":
            raise HoleError("it uses mini_infra.… by its full name; write `import mini_infra.… as` instead")
        else:
            raise HoleError(f"it uses {name}, which {self.path} does not have")

    def _same_class(self, name: str) -> bool:
        """Whether a name is a class on both sides: in a patch, a class stands for upstream's own."""
        sides = [source.find(name).kind for source in (self.patch, self.source) if name in source.found]
        return sides == ["class", "class"]

    def _help(self, name: str) -> None:
        if name not in self.helpers:
            self.helpers.append(name)
            self._need(self.patch.find(name))


def bound(body: list[ast.stmt]) -> set[str]:
    """The names that a module binds when it is imported; what stands inside its definitions is not looked at."""
    found: set[str] = set()
    for node in body:
        if isinstance(node, DEFINITIONS):
            found.add(node.name)
        elif isinstance(node, ast.Import | ast.ImportFrom):
            found.update((alias.asname or alias.name).partition(".")[0] for alias in node.names)
        else:
            blocks = list(suites(node))
            inside = {id(part) for block in blocks for inner in block for part in ast.walk(inner)}
            found.update(part.id for part in ast.walk(node) if _stored(part) and id(part) not in inside)
            found.update(name for block in blocks for name in bound(block))
    return found


def free_names(node: ast.AST) -> set[str]:
    """The names that a definition uses and does not bind itself, Python's own aside."""
    used = {one.id for one in ast.walk(node) if isinstance(one, ast.Name) and isinstance(one.ctx, ast.Load)}
    return used - set(_bound_inside(node)) - set(dir(builtins))


def _bound_inside(node: ast.AST) -> Iterator[str]:
    """Every name that is bound somewhere inside: parameters, targets, inner definitions and imports."""
    for one in ast.walk(node):
        if isinstance(one, ast.arg):
            yield one.arg
        elif _stored(one):
            yield one.id
        elif isinstance(one, (ast.ExceptHandler, ast.MatchAs, ast.MatchStar, *DEFINITIONS)) and one.name:
            yield one.name
        elif isinstance(one, ast.Import | ast.ImportFrom):
            yield from ((alias.asname or alias.name).partition(".")[0] for alias in one.names)


def _stored(node: ast.AST) -> bool:
    return isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)


def _attributes(node: ast.AST) -> set[str]:
    return {one.attr for one in ast.walk(node) if isinstance(one, ast.Attribute)}


def _import_of(patch: Module, name: str) -> str:
    """The import statement, for this name alone, by which a source binds a name at its top level; "" if none does."""
    for node in patch.tree.body:
        for alias in node.names if isinstance(node, ast.Import | ast.ImportFrom) else []:
            if (alias.asname or alias.name).partition(".")[0] == name:
                one = (
                    ast.Import([alias])
                    if isinstance(node, ast.Import)
                    else ast.ImportFrom(node.module, [alias], node.level)
                )
                return ast.unparse(one)
    return ""
