"""Text in, text out: take a definition's body out, take it away, put another in. Never reformats anything."""

import ast
import json

from grading.course.spans import BLANK_LINES, NEWLINE, TAIL, Definition, HoleError, Module, definitions, module

__all__ = ["Definition", "HoleError", "definitions", "edit", "excise", "reindent", "remove", "splice"]

Cut = tuple[int, int, str]  # replace text[start:end] by the third


def excise(src: str, qualname: str, message: str) -> str:
    """`src` with the body of `qualname`, after its docstring, replaced by `raise NotImplementedError(message)`."""
    return edit(src, {qualname: message})


def remove(src: str, qualname: str) -> str:
    """`src` without `qualname` and its @overload stubs; a block left empty gets `pass`."""
    return edit(src, removed=[qualname])


def edit(src: str, stubs: dict[str, str] | None = None, removed: list[str] = ()) -> str:
    """Several excisions ({name: message}) and removals in one reading of `src`. HoleError for an unknown name."""
    source = module(src)
    gone = [source.find(name) for name in removed]
    gone += [stub for one in gone for stub in one.stubs]
    cuts = [_excision(source, source.find(name), message) for name, message in (stubs or {}).items()]
    cuts += [_removal(source, one, gone) for one in gone]
    outer = [cut for cut in cuts if not any(_within(cut, other) for other in cuts)]
    text = src
    for start, end, new in sorted(set(outer), reverse=True):
        text = text[:start] + new + text[end:]
    return checked(text)


def splice(src: str, qualname: str, donor_src: str) -> str:
    """`src` with the whole definition of `qualname` (decorators, signature, body) replaced by the donor's."""
    old, donor = module(src).find(qualname), module(donor_src)
    new = reindent(donor, donor.find(qualname), old.indent)
    return checked(src[: old.start] + new + src[old.end :])


def reindent(source: Module, one: Definition, indent: str) -> str:
    """The text of a definition for a block indented by `indent`; the lines inside string literals stay."""
    text = source.text[one.start : one.end]
    if one.indent == indent:
        return text
    first, *rest = source.lines(one.start, one.end)
    inside = _lines_inside_strings(one)
    for index, line in enumerate(rest):
        number = one.first_line + 1 + index
        if number not in inside and line.strip() and line.startswith(one.indent):
            rest[index] = indent + line[len(one.indent) :]
    return "".join([first, *rest])


def _excision(source: Module, one: Definition, message: str) -> Cut:
    """Where the body lies, comments before its first statement included, and what stands there instead."""
    if one.kind == "class":
        raise HoleError(f"'{one.name}' is a class; a hole is a function or a method")
    stub = f"raise NotImplementedError({json.dumps(message, ensure_ascii=False)})"
    text, body = source.text, one.node.body
    documented = ast.get_docstring(one.node, clean=False) is not None
    kept = source.finish(body[0]) if documented else source.colon(one.node)
    line_end = TAIL.match(text, kept).end()
    newline = NEWLINE.match(text, line_end)
    block = newline is not None and line_end < one.end
    if documented and len(body) == 1:
        return _after_docstring(source, one, stub, kept, line_end)
    first = source.begin(body[1] if documented else body[0])
    if not block:
        return first, one.end, stub
    indent = text[source.line_start(first) : first]
    return BLANK_LINES.match(text, newline.end()).end(), one.end, indent + stub


def _after_docstring(source: Module, one: Definition, stub: str, kept: int, line_end: int) -> Cut:
    """A body of a docstring only: the stub follows it, on its line where the whole definition is one line."""
    begin = source.begin(one.node.body[0])
    indent = source.text[source.line_start(begin) : begin]
    if indent.strip():
        return kept, kept, "; " + stub
    return line_end, one.end, source.newline + indent + stub


def _removal(source: Module, one: Definition, gone: list[Definition]) -> Cut:
    """The whole lines of a definition; `pass` for the first of a block of which nothing is left."""
    nodes = {id(other.node) for other in gone}
    emptied = one.suite is not source.tree.body and all(id(node) in nodes for node in one.suite)
    new = "pass" if emptied and one.suite[0] is one.node else ""
    if one.indent.strip():
        return one.start, one.end, new or "pass"
    newline = NEWLINE.match(source.text, one.end)
    end = newline.end() if newline else one.end
    return source.line_start(one.start), end, one.indent + new + (newline[0] if newline else "") if new else ""


def _within(cut: Cut, other: Cut) -> bool:
    return cut[:2] != other[:2] and other[0] <= cut[0] and cut[1] <= other[1]


def _lines_inside_strings(one: Definition) -> set[int]:
    """Numbers of the lines that begin inside a string literal."""
    inside: set[int] = set()
    for node in ast.walk(one.node):
        text = isinstance(node, ast.JoinedStr) or (
            isinstance(node, ast.Constant) and isinstance(node.value, str | bytes)
        )
        if text and node.end_lineno > node.lineno:
            inside.update(range(node.lineno + 1, node.end_lineno + 1))
    return inside


def checked(text: str) -> str:
    """The text again, parsed: surgery that breaks a file is an error here and not at the learner's."""
    module(text)
    return text
