"""mini_infra against the pinned releases: names and parameters that upstream has not, and the reasons why.

What the mini leaves out is no difference. What it has is called as upstream's, and takes its parameters in their order,
unless isomorphism.yaml says why not.
"""

import ast
import difflib
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field

from grading.course import signatures
from grading.course.closure import PACKAGE
from grading.course.marked import CourseError, Marked
from grading.course.snapshots import Lock, load
from grading.course.spans import FUNCTIONS, Definition, HoleError, module

FILE = f"{PACKAGE}/isomorphism.yaml"
Entry = Annotated[str, Field(pattern=r"^[\w./-]+\.py::[\w.*]+$", description="path::symbol or path::symbol.parameter")]
Reason = Annotated[str, Field(pattern=r"\S")]
Found = dict[str, list[Definition]]


class Reasons(BaseModel):
    """isomorphism.yaml: wanted differences of names and parameters, and those of behaviour, which no diff can see."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    names: dict[Entry, Reason] = {}
    behaviour: dict[Entry, Reason] = {}


@dataclass(frozen=True)
class Difference:
    """One difference, or a stale entry; an error unless it has a reason. `entry` is its key in isomorphism.yaml."""

    what: str  # "symbol", "kind", "parameter", "order" or "stale"
    file: str
    line: int
    entry: str
    says: str
    reason: str = ""

    def __str__(self) -> str:
        advice = "take it out" if self.what == "stale" else f"do as upstream, or say why in {FILE}: {self.entry}"
        return f"{self.file}:{self.line}: {self.says}; {advice}"


class Mirror:
    """The mini's part of one release, beside the release that is unpacked at `top`."""

    def __init__(self, root: Path, lock: Lock, top: Path):
        self.root, self.lock, self.top = root, lock, top

    @cached_property
    def mine(self) -> dict[str, Found]:
        """Path as upstream has it -> the definitions of the mini's file."""
        base = self.root / PACKAGE
        paths = sorted(path.relative_to(base).as_posix() for path in (base / self.lock.top).rglob("*.py"))
        return {path: _compared(_found(base / path, f"{PACKAGE}/{path}")) for path in paths}

    def theirs(self, path: str) -> Found | None:
        """The definitions of upstream's file; None where there is none."""
        file = self.top / path
        return _found(file, f"{self.lock.name} {self.lock.version}: {path}") if file.is_file() else None

    @property
    def symbols(self) -> int:
        return sum(len(found) for found in self.mine.values())

    def differences(self) -> Iterator[Difference]:
        """Every difference, explained or not, in the order of the files."""
        for path, found in self.mine.items():
            theirs, missing = self.theirs(path), set()
            for name, some in found.items():
                for one in some:
                    if one.scope in missing:
                        missing.add(name)  # said once, of the class around it
                    elif theirs is None or name not in theirs:
                        missing.add(name)
                        yield _difference("symbol", path, name, one.node.lineno, _missing(one, theirs, found))
                    else:
                        # a name may be defined twice upstream, as in `if … else …`: the better fit counts
                        yield from min((list(_unlike(path, one, other)) for other in theirs[name]), key=len)

    def has_both(self, entry: str) -> bool:
        """Whether the mini and upstream both define the entry's symbol."""
        path, _, name = entry.partition("::")
        return name in self.mine.get(path, {}) and name in (self.theirs(path) or {})


def mirrored(root: Path, lock: Lock) -> bool:
    """Whether mini_infra has a part of the release at all."""
    return (root / PACKAGE / lock.top).is_dir()


def compare(root: Path, mirror: Mirror) -> list[Difference]:
    """The differences with their reasons, then the stale entries. CourseError where isomorphism.yaml is wrong."""
    marked = Marked(root / FILE, FILE) if (root / FILE).is_file() else None
    reasons = _reasons(root, marked) if marked else Reasons()
    found = [replace(one, reason=reasons.names.get(one.entry, "")) for one in mirror.differences()]
    stale = [
        Difference("stale", FILE, marked.line((part, entry)), entry, f"{entry}: {why}")
        for part, entry, why in _stale(reasons, mirror, {one.entry for one in found})
    ]
    return found + stale


def _reasons(root: Path, marked: Marked) -> Reasons:
    """The file's content; every entry is of a release that is pinned and mirrored."""
    reasons = marked.model(Reasons)
    tops = {lock.top for lock in load(root).values() if mirrored(root, lock)}
    for part, entries in (("names", reasons.names), ("behaviour", reasons.behaviour)):
        for entry in entries:
            if entry.partition("/")[0] not in tops:
                raise marked.error((part, entry), f"{entry}: {PACKAGE} mirrors no such release; take it out")
    return reasons


def _stale(reasons: Reasons, mirror: Mirror, differ: set[str]) -> Iterator[tuple[str, str, str]]:
    """(part of the file, entry, why) of each entry for this release that explains nothing."""
    here = f"{mirror.lock.top}/"
    for entry in reasons.names:
        if entry.startswith(here) and entry not in differ:
            yield "names", entry, "no difference (any more)"
    for entry in reasons.behaviour:
        if entry.startswith(here) and not mirror.has_both(entry):
            yield "behaviour", entry, "not a symbol of both sides"


def _found(file: Path, shown: str) -> Found:
    try:
        return module(file.read_text(encoding="utf-8")).found
    except (HoleError, UnicodeDecodeError) as error:
        raise CourseError(f"{shown}: {error}") from None


def _compared(found: Found) -> Found:
    """Without what is local to a function, in the order of the file."""
    classes = {"", *(name for name, some in found.items() if some[0].kind == "class")}
    kept = {name: some for name, some in found.items() if _around(some[0].scope) <= classes}
    return dict(sorted(kept.items(), key=lambda item: item[1][0].start))


def _around(scope: str) -> set[str]:
    """a.b.c -> a, a.b and a.b.c."""
    parts = scope.split(".")
    return {".".join(parts[: depth + 1]) for depth in range(len(parts))}


def _difference(what: str, path: str, name: str, line: int, says: str) -> Difference:
    return Difference(what, f"{PACKAGE}/{path}", line, f"{path}::{name}", says)


def _missing(one: Definition, theirs: Found | None, ours: Found) -> str:
    """What is said of a definition that upstream has not, and which of upstream's that the mini has not is like it."""
    if theirs is None:
        return f"{one.kind} {one.name}: upstream has no such file"
    last = one.name.rpartition(".")[2]
    others = [name for name in theirs if name not in ours]
    near = [name for name in others if name.rpartition(".")[2] == last]
    near = near or difflib.get_close_matches(one.name, others, 1, 0.75)
    return f"{one.kind} {one.name} is not upstream's" + (f", which has {', '.join(near)}" if near else "")


def _unlike(path: str, mine: Definition, theirs: Definition) -> Iterator[Difference]:
    """How two definitions of one name differ in kind, in parameters and in their order."""
    name = mine.name
    if mine.kind != theirs.kind:
        yield _difference("kind", path, name, mine.node.lineno, f"{name}: {mine.kind} here, {theirs.kind} upstream")
        return
    ours, known = list(_parameters(mine.node)), list(_parameters(theirs.node))
    if not isinstance(mine.node, FUNCTIONS):
        known += _taken(theirs.node)
    for parameter, line in _parameters(mine.node).items():
        if parameter not in known:
            says = f"parameter {parameter} of {name} is not upstream's"
            instead = known[ours.index(parameter) :][:1] if isinstance(mine.node, FUNCTIONS) else []
            says += f", which has {instead[0]} there" if instead and instead[0] not in ours else ""
            yield _difference("parameter", path, f"{name}.{parameter}", line, says)
    here, there = _order(mine.node, theirs.node), _order(theirs.node, mine.node)
    if here != there:
        says = f"{name} takes ({', '.join(here)}) in this order, upstream ({', '.join(there)})"
        yield _difference("order", path, name, mine.node.lineno, says)


def _parameters(node: ast.AST) -> dict[str, int]:
    """Name -> line of a function's parameters; of a class, its annotated names: those of its constructor, if made."""
    if not isinstance(node, FUNCTIONS):
        fields = [one for one in node.body if isinstance(one, ast.AnnAssign) and isinstance(one.target, ast.Name)]
        return {one.target.id: one.lineno for one in fields}
    lines = {one.arg: one.lineno for one in ast.iter_child_nodes(node.args) if isinstance(one, ast.arg)}
    return {name: lines[name.lstrip("*")] for name in signatures.parameters(node)}


def _taken(node: ast.ClassDef) -> list[str]:
    """What the written constructor of a class takes: a dataclass may mirror one."""
    made = [one for one in node.body if isinstance(one, FUNCTIONS) and one.name == "__init__"]
    return [name for one in made for name in signatures.placed(one)[1:]]


def _order(node: ast.AST, other: ast.AST) -> list[str]:
    """The parameters that can be given by place on both sides, in the order of `node`."""
    one, two = ([*signatures.placed(n)] if isinstance(n, FUNCTIONS) else [*_parameters(n)] for n in (node, other))
    return [name for name in one if name in two]
