"""Where each definition of a source file stands, in characters of its text.

`ast` counts lines as Python's tokenizer does (\\n, \\r\\n, \\r; never a form feed or U+2028) and columns in
UTF-8 bytes. Everything here is turned into offsets of the `str`, so that the surgery of `holes.py` is slicing.
"""

import ast
import difflib
import re
from bisect import bisect_right
from dataclasses import dataclass, field, replace
from functools import lru_cache
from itertools import pairwise

from grading.course.syntax import parse

FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)
DEFINITIONS = (*FUNCTIONS, ast.ClassDef)
KINDS = {ast.FunctionDef: "function", ast.AsyncFunctionDef: "async function", ast.ClassDef: "class"}

NEWLINE = re.compile(r"\r\n|\r|\n")
BLANK_LINES = re.compile(r"(?:[ \t\f]*(?:\r\n|\r|\n))*")
TAIL = re.compile(r"[ \t\f]*;?[ \t\f]*(?:#[^\r\n]*)?")  # what may follow a statement on its line
COMMENT_LINE = re.compile(r"(?:\r\n|\r|\n)(?:[ \t\f]*(?:\r\n|\r|\n))*([ \t\f]*)#[^\r\n]*")
HEADER_REST = re.compile(r"(?:#[^\r\n]*|[^#:])*?:")  # from the header's last expression to its colon


class HoleError(ValueError):
    """A definition that cannot be found or edited; the message says what the file has."""


@dataclass(frozen=True)
class Definition:
    """One definition: `start` is its first decorator's `@`, `end` lies behind its last comment."""

    name: str
    kind: str  # "function", "async function" or "class"
    first_line: int
    last_line: int
    start: int
    end: int
    indent: str
    scope: str  # the definition around it, "" for the module
    node: ast.AST = field(repr=False, compare=False)
    suite: list = field(repr=False, compare=False)  # the statements that it stands among
    stubs: tuple["Definition", ...] = ()  # its @overload stubs


class Module:
    """A parsed source text with its definitions. HoleError where the text is no Python."""

    def __init__(self, text: str):
        self.text = text
        self._bom = 1 if text.startswith("\ufeff") else 0  # ast counts columns behind it
        self.tree = _parse(text[self._bom :])
        self._starts = [self._bom, *(match.end() for match in NEWLINE.finditer(text))]
        self.newline = match[0] if (match := NEWLINE.search(text)) else "\n"
        self.found: dict[str, list[Definition]] = {}
        for scope, node, suite in _walk(self.tree.body, ""):
            one = self._definition(scope, node, suite)
            self.found.setdefault(one.name, []).append(one)

    def definitions(self) -> dict[str, Definition]:
        """The definitions that have a name of their own, in the order of the file."""
        unique = {name: one for name, some in self.found.items() if (one := _implementation(some))}
        return dict(sorted(unique.items(), key=lambda item: item[1].start))

    def find(self, qualname: str) -> Definition:
        some = self.found.get(qualname, [])
        if one := _implementation(some):
            return one
        if some:
            lines = ", ".join(str(one.first_line) for one in some)
            raise HoleError(
                f"'{qualname}' is defined {len(some)} times (lines {lines}); "
                f"a name must stand for one definition. The file has {self._names()}"
            )
        near = difflib.get_close_matches(qualname, self.found, 1, 0.5)
        hint = f" (did you mean '{near[0]}'?)" if near else ""
        raise HoleError(f"no definition '{qualname}'{hint}. The file has {self._names()}")

    def begin(self, node: ast.AST) -> int:
        """Offset of a statement's first character; of the first decorator's `@` where it has one."""
        decorators = getattr(node, "decorator_list", None)
        if not decorators:
            return self._offset(node.lineno, node.col_offset)
        line = decorators[0].lineno  # `@(` may stand some lines above the expression
        while not self.line(line).lstrip(" \t\f").startswith("@") and line > 1:
            line -= 1
        return self.text.index("@", self._starts[line - 1])

    def header(self, node: ast.AST) -> int:
        """Offset of `def`, `async` or `class`, behind the decorators."""
        return self._offset(node.lineno, node.col_offset)

    def finish(self, node: ast.AST) -> int:
        return self._offset(node.end_lineno, node.end_col_offset)

    def colon(self, node: ast.AST) -> int:
        """Offset behind the colon that ends a definition's header."""
        at = self._offset(node.lineno, node.col_offset)
        for part in _header_parts(node):
            at = max(at, self.finish(part))
        return HEADER_REST.match(self.text, at).end()

    def line_start(self, offset: int) -> int:
        """Offset of the first character of the line that `offset` is in."""
        return self._starts[self.line_number(offset) - 1]

    def line_number(self, offset: int) -> int:
        return max(1, bisect_right(self._starts, offset))

    def lines(self, start: int, end: int) -> list[str]:
        """The text between two offsets by lines, ends kept."""
        cuts = [start, *(match.end() for match in NEWLINE.finditer(self.text, start, end)), end]
        return [self.text[a:b] for a, b in pairwise(cuts)]

    def line(self, number: int) -> str:
        end = self._starts[number] if number < len(self._starts) else len(self.text)
        return self.text[self._starts[number - 1] : end]

    def _offset(self, line: int, column: int) -> int:
        text = self.line(line)
        if not text.isascii():
            column = len(text.encode()[:column].decode())
        return self._starts[line - 1] + column

    def _definition(self, scope: str, node: ast.AST, suite: list) -> Definition:
        start = self.begin(node)
        indent = self.text[self.line_start(start) : start]
        end = self._tail(self.finish(node), indent)
        lines = self.line_number(start), self.line_number(end)
        name = _qualified(scope, node)
        return Definition(name, KINDS[type(node)], *lines, start, end, indent, scope, node, suite)

    def _tail(self, end: int, indent: str) -> int:
        """Behind the comments that belong to a definition: on its last line and, deeper than it, below."""
        tail = TAIL.match(self.text, end)
        end = tail.end() if tail[0].strip() else end
        while (comment := COMMENT_LINE.match(self.text, end)) and _width(comment[1]) > _width(indent):
            end = comment.end()
        return end

    def _names(self, most: int = 20) -> str:
        names = list(self.found)
        more = f" and {len(names) - most} more" if len(names) > most else ""
        return (", ".join(names[:most]) or "no definitions") + more


@lru_cache(maxsize=128)
def module(text: str) -> Module:
    """The parsed text, kept: the same file is looked at once for every lab."""
    return Module(text)


def definitions(src: str) -> dict[str, Definition]:
    """Qualified name -> Definition: `f`, `Class.method`, `outer.inner`, `Class.name.setter`."""
    return module(src).definitions()


def is_overload(node: ast.AST) -> bool:
    return any(_last_name(one) == "overload" for one in node.decorator_list)


def _parse(text: str) -> ast.Module:
    try:
        return parse(text)
    except SyntaxError as error:
        raise HoleError(f"line {error.lineno}: {error.msg}" if error.lineno else f"cannot be parsed: {error}") from None
    except (ValueError, RecursionError, MemoryError) as error:
        raise HoleError(f"cannot be parsed: {error}") from None


def _walk(suite: list, scope: str):
    """(name of the definition around it, node, the statements it stands among) of every definition."""
    for node in suite:
        if isinstance(node, DEFINITIONS):
            yield scope, node, suite
            yield from _walk(node.body, _qualified(scope, node))
        else:
            for inner in suites(node):
                yield from _walk(inner, scope)


def suites(node: ast.AST):
    """The blocks of a compound statement: bodies, else, finally, handlers, cases."""
    for name in ("body", "orelse", "finalbody"):
        if block := getattr(node, name, None):
            yield block
    for part in [*getattr(node, "handlers", []), *getattr(node, "cases", [])]:
        yield part.body


def _qualified(scope: str, node: ast.AST) -> str:
    return f"{scope}.{_own_name(node)}" if scope else _own_name(node)


def _own_name(node: ast.AST) -> str:
    """`name`, or `name.setter` for the other halves of a property."""
    for decorator in node.decorator_list:
        accessor = isinstance(decorator, ast.Attribute) and decorator.attr in ("getter", "setter", "deleter")
        if accessor and _last_name(decorator.value) == node.name:
            return f"{node.name}.{decorator.attr}"
    return node.name


def _last_name(node: ast.AST) -> str:
    return node.attr if isinstance(node, ast.Attribute) else getattr(node, "id", "")


def _implementation(some: list[Definition]) -> Definition | None:
    """The one definition of a name, its @overload stubs tied to it; None where there is not one."""
    stubs = [one for one in some if one.kind != "class" and is_overload(one.node)]
    rest = [one for one in some if one not in stubs]
    if len(rest) == 1 and stubs:
        return replace(rest[0], stubs=tuple(stubs))
    return rest[0] if len(rest) == 1 else None


def _header_parts(node: ast.AST):
    """Every expression between `def` or `class` and the colon."""
    if isinstance(node, ast.ClassDef):
        yield from [*node.bases, *node.keywords]
    else:
        given = node.args
        yield from [*given.posonlyargs, *given.args, *given.kwonlyargs, *given.defaults]
        yield from [one for one in [given.vararg, given.kwarg, *given.kw_defaults, node.returns] if one]
    yield from getattr(node, "type_params", [])


def _width(indent: str) -> int:
    return len(indent.expandtabs(8))
