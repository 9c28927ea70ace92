"""Mutants of a lab's holes: each is the reference with one small change that a hidden test should notice.

The changes are cosmic-ray's operators, those that need no arguments; all they may touch is the lines below a hole's
docstring, and those of the helpers that only the solution has (`drop`).
"""

import ast
import difflib
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from typing import Any

from grading.course.catalog import Course, CourseError, Lab
from grading.course.holes import Definition
from grading.course.spans import Module, module
from grading.course.syntax import parse
from grading.course.trees import reference_tree

HEAD = "def _():\n"
LACKING = "cosmic-ray is not installed, and mutation testing needs it: pip install cosmic-ray, or say --mutants 0"


@dataclass(frozen=True)
class Mutant:
    """One changed hole. `line` is what its changed lines were, `becomes` what they are; `source` is the whole file."""

    hole: str
    line: str
    becomes: str
    source: str
    original: str

    @property
    def path(self) -> str:
        return self.hole.partition("::")[0]

    @property
    def diff(self) -> str:
        """A unified diff against the reference, with the hole's name in its header."""
        old, new = self.original.splitlines(), self.source.splitlines()
        lines = difflib.unified_diff(old, new, self.path, self.hole, n=2, lineterm="")
        return "\n".join(lines)


def mutants(course: Course, lab: Lab) -> list[Mutant]:
    """Every mutant of the lab, in the order of its holes. CourseError where cosmic-ray is not installed."""
    tree = reference_tree(course, lab)
    found: list[Mutant] = []
    for hole in [*lab.holes, *lab.drop]:
        path, _, qualname = hole.partition("::")
        found += _of_hole(hole, module(tree[path].decode()), qualname)
    return found


def _of_hole(hole: str, source: Module, qualname: str) -> Iterator[Mutant]:
    span = _body(source, source.find(qualname))
    if span is None:
        return
    start, end = span
    text, body = source.text, source.text[start:end]
    for mutated in _variants(body, _indent(source, start)):
        line, becomes = _changed(_whole_lines(source, start, body), _whole_lines(source, start, mutated))
        yield Mutant(hole, line, becomes, text[:start] + mutated + text[end:], text)


def _body(source: Module, one: Definition) -> tuple[int, int] | None:
    """Where the statements below the docstring stand; None where there are none."""
    body = one.node.body[1:] if ast.get_docstring(one.node, clean=False) is not None else one.node.body
    return (source.begin(body[0]), source.finish(body[-1])) if body else None


def _indent(source: Module, start: int) -> str:
    before = source.text[source.line_start(start) : start]
    return before if before and not before.strip() else "    "


def _variants(body: str, indent: str) -> Iterator[str]:
    """`body` with one change each; none twice, none that does not parse or that says the same."""
    from cosmic_ray.ast import ast_nodes, get_ast
    from cosmic_ray.mutating import mutate_code

    head = HEAD + indent
    source = head + body + "\n"
    seen = {ast.dump(parse(source))}
    nodes = list(ast_nodes(get_ast(source)))
    for operator in _operators():
        for occurrence in range(sum(1 for node in nodes for _ in operator.mutation_positions(node))):
            mutated = mutate_code(source, operator, occurrence)
            meaning = _meaning(mutated)
            if meaning and meaning not in seen:
                seen.add(meaning)
                yield mutated[len(head) : -1]


@cache
def _operators() -> list[Any]:
    try:
        from cosmic_ray.operators.provider import OperatorProvider
    except ImportError:
        raise CourseError(LACKING) from None
    provider = OperatorProvider()
    kinds = [provider[name] for name in provider]
    return [kind() for kind in kinds if not kind.arguments()]


def _meaning(source: str) -> str:
    try:
        return ast.dump(parse(source))
    except (SyntaxError, ValueError):
        return ""


def _whole_lines(source: Module, start: int, body: str) -> list[str]:
    """The lines of a body, the first one from its margin: `def f(x): return x` is one line."""
    return (source.text[source.line_start(start) : start] + body).splitlines()


def _changed(old: list[str], new: list[str]) -> tuple[str, str]:
    """The lines in which two texts differ, as (line, becomes), one space between words."""
    while old and new and old[0] == new[0]:
        old, new = old[1:], new[1:]
    while old and new and old[-1] == new[-1]:
        old, new = old[:-1], new[:-1]
    return _spaced(old), _spaced(new)


def _spaced(lines: list[str]) -> str:
    return "\n".join(" ".join(line.split()) for line in lines)
