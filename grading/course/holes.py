"""Holes and patches, text in and text out: what changed between two sources, and a patch put on a source.

A patch is changed definitions, new definitions and new imports; all else is listed as what it cannot carry.
"""

import ast
from collections import Counter
from dataclasses import dataclass, field

from grading.course.cuts import edit, excise, remove, splice
from grading.course.inserts import carried, insert, insert_imports
from grading.course.spans import FUNCTIONS, NEWLINE, Definition, HoleError, Module, definitions, is_overload, module

__all__ = [
    "Changes",
    "Definition",
    "HoleError",
    "carry",
    "changes",
    "definitions",
    "edit",
    "excise",
    "graft",
    "remove",
    "splice",
    "text_of",
]


@dataclass
class Changes:
    """`changed` and `added` are qualified names, `imports` statements, `other` sentences about what a patch lacks."""

    changed: list[str] = field(default_factory=list)
    added: list[str] = field(default_factory=list)
    imports: list[str] = field(default_factory=list)
    other: list[str] = field(default_factory=list)


def changes(old_src: str, new_src: str) -> Changes:
    """What has to be done to `old_src` to get `new_src`. Line ends and comments between definitions are no change."""
    old, new = module(old_src), module(new_src)
    found = _differences(old, new, partial=False)
    gone = {name: one for name, one in carried(old).items() if name not in new.found}
    found.other += [f"{name} is removed" for name, one in gone.items() if one.scope not in [*gone, *found.changed]]
    found.other += [f"'{text}' is removed" for text in _new_imports(new, old)]
    found.other += [f"'{text}' is removed (line {line} before)" for line, text in _new_statements(new, old)]
    if ast.get_docstring(old.tree) != ast.get_docstring(new.tree):
        found.other.append("the docstring of the file is another")
    return found


def graft(old_src: str, patch_src: str) -> str:
    """`old_src` with a patch on it: its definitions spliced, its new definitions and imports put in.

    The patch may be a whole edited file or only what changes: a class in it that the old file has too stands for
    its methods. The patch's own docstring is not part of it. HoleError where it holds more than a patch can carry.
    """
    old, patch = module(old_src), module(patch_src)
    found = _differences(old, patch, partial=True)
    if found.other:
        raise HoleError("a patch carries definitions and imports only, but this one has " + "; ".join(found.other))
    return _put(old_src, patch, found)


def carry(src: str, old_src: str, new_src: str) -> str:
    """`src` with the patch on it that leads from `old_src` to `new_src`; the rest of `src` stays as it is.

    HoleError lists what a patch cannot carry: other statements, and whatever was removed.
    """
    found = changes(old_src, new_src)
    if found.other:
        raise HoleError("; ".join(found.other))
    return _put(src, module(new_src), found)


def _put(text: str, patch: Module, found: Changes) -> str:
    """`text` with what `found` names of `patch`; a new definition that is there already is replaced."""
    for name in [*found.changed, *found.added]:
        there = name in module(text).found
        text = splice(text, name, patch.text) if there else insert(text, patch, patch.find(name))
    wanted = module("\n".join(found.imports))
    return insert_imports(text, _new_imports(module(text), wanted))


def _differences(old: Module, new: Module, partial: bool) -> Changes:
    """What `new` has that `old` has not, or has otherwise; with `partial`, a class may leave out what stays."""
    found = Changes(imports=_new_imports(old, new))
    ours, theirs, taken = carried(new), carried(old), set()
    for name, one in ours.items():
        if one.scope in taken:
            taken.add(name)  # goes with its class
        elif name not in old.found:
            taken.add(name)
            found.added.append(name)
        elif name not in theirs:
            found.other.append(f"line {one.first_line}: {name}, which the old file defines elsewhere or repeatedly")
        elif {one.kind, theirs[name].kind} != {"class"}:
            if _text(new, one) != _text(old, theirs[name]):
                taken.add(name)
                found.changed.append(name)
        elif _new_frame(old, new, name, partial):
            taken.add(name)
            if partial and any(other.startswith(name + ".") and other not in ours for other in theirs):
                found.other.append(f"line {one.first_line}: other statements in class {name}; give the whole class")
            else:
                found.changed.append(name)
    found.other += [f"line {line}: '{text}'" for line, text in _new_statements(old, new)]
    return found


def _new_frame(old: Module, new: Module, name: str, partial: bool) -> bool:
    """Whether a class differs in more than its methods; with `partial`, leaving out says nothing."""
    ours, theirs = _frame(new, name), _frame(old, name)
    header = ours["header"] != theirs["header"] and not (partial and not ours["header"])
    said = Counter(ours["statements"]) - Counter(theirs["statements"])
    unsaid = Counter(theirs["statements"]) - Counter(ours["statements"])
    return bool(header or said or (unsaid and not partial))


def _frame(source: Module, name: str) -> dict[str, list[str]]:
    """A class without its methods: what its header says, and its statements."""
    node = source.find(name).node
    methods = {id(one.node) for one in carried(source).values()}
    header = [*node.bases, *node.keywords, *node.decorator_list, *getattr(node, "type_params", [])]
    statements = [
        one
        for one in node.body
        if id(one) not in methods and not isinstance(one, ast.Pass) and ast.unparse(one) != "..."
    ]
    return {"header": [ast.dump(one) for one in header], "statements": [ast.dump(one) for one in statements]}


def _new_statements(old: Module, new: Module) -> list[tuple[int, str]]:
    """(line, first line of text) of the statements of `new`, imports and definitions aside, that `old` has not."""
    known = Counter(ast.dump(node) for node in _statements(old))
    fresh = []
    for node in _statements(new):
        if known[ast.dump(node)]:
            known[ast.dump(node)] -= 1
        elif not (isinstance(node, FUNCTIONS) and is_overload(node) and node.name not in old.found):
            fresh.append((node.lineno, new.line(node.lineno).strip()[:60]))
    return fresh


def _statements(source: Module) -> list[ast.stmt]:
    taken = {id(one.node) for one in carried(source).values()}
    kept = [node for node in source.tree.body if id(node) not in taken and not _says_nothing(node)]
    return [node for node in kept if not isinstance(node, ast.Import | ast.ImportFrom)]


def _new_imports(old: Module, new: Module) -> list[str]:
    """The import statements of `new`, at its top level, reduced to the names that `old` does not import."""
    known = {key for node in old.tree.body for key in _imported(node)}
    fresh = []
    for node in new.tree.body:
        keys = _imported(node)
        names = [alias for alias, key in zip(getattr(node, "names", []), keys, strict=bool(keys)) if key not in known]
        if names:
            known.update(keys)
            kept = ast.Import(names) if isinstance(node, ast.Import) else ast.ImportFrom(node.module, names, node.level)
            fresh.append(ast.unparse(kept))
    return fresh


def _imported(node: ast.stmt) -> list[tuple]:
    if isinstance(node, ast.Import | ast.ImportFrom):
        where = (getattr(node, "level", None), getattr(node, "module", None))
        return [(*where, alias.name, alias.asname) for alias in node.names]
    return []


def text_of(src: str, name: str) -> str:
    """The definition `name` as text, with one kind of line end; "" where there is none. HoleError: `src` is broken."""
    one = definitions(src).get(name)
    return _text(module(src), one) if one else ""


def _text(source: Module, one: Definition) -> str:
    """A definition as text, with one kind of line end."""
    return NEWLINE.sub("\n", source.text[one.start : one.end])


def _says_nothing(node: ast.AST) -> bool:
    """`pass`, `...` and bare strings, the docstring among them."""
    return isinstance(node, ast.Pass) or (isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant))
