"""Where a new definition or import of a patch goes in a source, so that it is there when its name is looked up."""

import ast

from grading.course.cuts import checked, reindent
from grading.course.spans import BLANK_LINES, FUNCTIONS, NEWLINE, TAIL, Definition, HoleError, Module, module


def carried(source: Module) -> dict[str, Definition]:
    """The definitions that a patch can carry: functions and classes of the module, methods of those classes."""
    blocks = {id(source.tree.body)}
    found = {}
    for name, one in source.definitions().items():  # in the order of the file: a class before its methods
        if id(one.suite) in blocks:
            found[name] = one
            if one.kind == "class":
                blocks.add(id(one.node.body))
    return found


def insert(src: str, patch: Module, one: Definition) -> str:
    """`src` with a new definition: a method at the end of its class, else behind what it needs to be defined."""
    source = module(src)
    if one.scope:
        return _insert_method(source, patch, one)
    anchor = _anchor(source, one)
    text = _new_text(source, patch, one, "")
    if anchor is None:
        return checked(text + source.newline * 3 + src)
    return _insert_behind(source, _end(source, anchor), source.newline * 2 + text, blank_behind=2)


def insert_imports(src: str, statements: list[str]) -> str:
    """`src` with import statements behind its last one; `from __future__` goes before all others."""
    for statement in statements:
        source = module(src)
        future = statement.startswith("from __future__")
        anchor = _last_import(source, future) or _docstring(source)
        if anchor is None:
            src = checked(statement + source.newline + src)
        else:
            src = _insert_behind(source, _end(source, anchor), statement)
    return src


def _insert_method(source: Module, patch: Module, one: Definition) -> str:
    owner = source.find(one.scope)
    last = owner.node.body[-1]
    begin = source.begin(last)
    indent = source.text[source.line_start(begin) : begin]
    if indent.strip():
        raise HoleError(f"class {owner.name} is written on one line; write it as a block to add {one.name}")
    text = indent + _new_text(source, patch, one, indent)
    return _insert_behind(source, owner.end, source.newline + text)


def _new_text(source: Module, patch: Module, one: Definition, indent: str) -> str:
    """The definition with its @overload stubs, in the line ends of the file that it goes to."""
    parts = [reindent(patch, part, indent) for part in [*one.stubs, one]]
    return NEWLINE.sub(source.newline, (source.newline + indent).join(parts))


def _end(source: Module, anchor: ast.stmt) -> int:
    """Where the last statement ends that stands on a line with `anchor`, as in `import a; b = 1`."""
    for node in source.tree.body:
        if anchor.lineno <= node.lineno <= anchor.end_lineno:
            anchor = node
    return source.finish(anchor)


def _insert_behind(source: Module, offset: int, text: str, blank_behind: int = 0) -> str:
    """`text` as lines of their own behind the line of `offset`, at least so many blank lines behind it."""
    end = TAIL.match(source.text, offset).end()
    rest = source.text[end:]
    blank = len(NEWLINE.findall(BLANK_LINES.match(rest)[0])) - 1
    behind = source.newline * max(0, blank_behind - blank) if rest.strip() else ""
    return checked(source.text[:end] + source.newline + text + behind + (rest or source.newline))


def _anchor(source: Module, one: Definition) -> ast.stmt | None:
    """The last top-level statement that has to run before the definition does: imports, and names it needs at once."""
    needed = {name for part in [*one.stubs, one] for name in _needed_at_once(part.node)}
    anchor = _last_import(source, future=False) or _docstring(source)
    for node in source.tree.body:
        behind = anchor is None or node.lineno > anchor.lineno
        if behind and needed & _bound(node):
            anchor = node
    return anchor


def _needed_at_once(node: ast.AST) -> set[str]:
    """Names that a definition looks up when it is executed: not those inside function bodies."""
    if isinstance(node, ast.Name):
        return {node.id}
    if isinstance(node, ast.Lambda):
        return set()
    parts = list(ast.iter_child_nodes(node))
    if isinstance(node, FUNCTIONS):
        parts = [part for part in parts if part not in node.body]
    return {name for part in parts for name in _needed_at_once(part)}


def _bound(node: ast.stmt) -> set[str]:
    """Names that a top-level statement binds, blocks of it included."""
    found = set()
    for part in ast.walk(node):
        if isinstance(part, ast.Name) and isinstance(part.ctx, ast.Store):
            found.add(part.id)
        elif isinstance(part, (*FUNCTIONS, ast.ClassDef)):
            found.add(part.name)
    return found


def _last_import(source: Module, future: bool) -> ast.stmt | None:
    """The last import at the top level before the first definition (of `__future__` only, if `future`)."""
    found = None
    for node in source.tree.body:
        if isinstance(node, (*FUNCTIONS, ast.ClassDef)):
            break
        if isinstance(node, ast.Import | ast.ImportFrom) and (not future or _module(node) == "__future__"):
            found = node
    return found


def _module(node: ast.stmt) -> str | None:
    return getattr(node, "module", None)


def _docstring(source: Module) -> ast.stmt | None:
    return source.tree.body[0] if ast.get_docstring(source.tree) is not None else None
