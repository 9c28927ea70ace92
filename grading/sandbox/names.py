"""Names in a source file, resolved to dotted paths through imports and plain assignments.

`import torch as t; empty = t.empty` makes `empty` stand for torch.empty. A name that a function binds in any other way
(a parameter, a loop variable) stands for nothing known, and an unbound one for the builtin.
"""

from __future__ import annotations

import ast
import builtins
from collections.abc import Iterator
from dataclasses import dataclass, field

Comprehension = ast.ListComp | ast.SetComp | ast.DictComp | ast.GeneratorExp
Definition = ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef
DEEPEST_ALIAS = 8


@dataclass
class Scope:
    """One module, class, function or comprehension: `bound` names, of which `aliases` have a known meaning.

    defined: names bound by def, class or import; another binding at module level may not have happened when the name
    is read, and then it is the builtin.
    """

    qualname: str
    parent: Scope | None = None
    is_class: bool = False
    defined: set[str] = field(default_factory=set)
    bound: set[str] = field(default_factory=set)
    aliases: dict[str, list[str | ast.expr]] = field(default_factory=dict)

    def child(self, name: str, is_class: bool) -> Scope:
        return Scope(f"{self.qualname}.{name}".lstrip("."), self, is_class)

    def define(self, name: str) -> None:
        self.bound.add(name)
        self.defined.add(name)

    def alias(self, name: str, meaning: str | ast.expr) -> None:
        self.bound.add(name)
        self.aliases.setdefault(name, []).append(meaning)


def resolve(node: ast.expr, scope: Scope, depth: int = 0) -> set[str]:
    """Every dotted path that `node` may stand for; builtins as `builtins.open`; empty when unknown."""
    if isinstance(node, ast.Name):
        return _resolve_name(node.id, scope, depth)
    if isinstance(node, ast.Attribute):
        return {f"{base}.{node.attr}" for base in resolve(node.value, scope, depth)}
    if name := literal_getattr(node):
        return {f"{base}.{name}" for base in resolve(node.args[0], scope, depth)}
    return set()


def literal_getattr(node: ast.AST) -> str | None:
    """The name in getattr(x, "name"), which is x.name in other words."""
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "getattr":
        given = node.args[1] if len(node.args) > 1 else None
        if isinstance(given, ast.Constant) and isinstance(given.value, str):
            return given.value
    return None


def _resolve_name(name: str, scope: Scope, depth: int) -> set[str]:
    here: Scope | None = scope
    while here is not None:
        if name in here.bound and (here is scope or not here.is_class):
            local = here.parent is not None and not here.is_class
            return set(_meanings(name, here, depth)) | (set() if local or name in here.defined else _builtin(name))
        here = here.parent
    return _builtin(name)


def _builtin(name: str) -> set[str]:
    return {f"builtins.{name}"} if hasattr(builtins, name) else set()


def _meanings(name: str, scope: Scope, depth: int) -> Iterator[str]:
    for meaning in scope.aliases.get(name, []):
        if isinstance(meaning, str):
            yield meaning
        elif depth < DEEPEST_ALIAS:
            outer = scope if _mentions(meaning) != name else scope.parent or Scope("")  # open = open
            yield from resolve(meaning, outer, depth + 1)


def _mentions(node: ast.expr) -> str:
    """The name at the root of a chain."""
    while isinstance(node, ast.Attribute):
        node = node.value
    return node.id if isinstance(node, ast.Name) else ""


def imported(node: ast.Import | ast.ImportFrom, path: str) -> list[tuple[str, str, str]]:
    """(module, name or "", bound as) of each name of an import statement; relative ones are made absolute."""
    if isinstance(node, ast.Import):
        return [(one.name, "", one.asname or one.name.split(".")[0]) for one in node.names]
    module = node.module or ""
    if node.level:
        package = path.split("/")[: -node.level]
        module = ".".join([*package, *([module] if module else [])])
    return [(module, one.name, one.asname or one.name) for one in node.names]


class Binder(ast.NodeVisitor):
    """Makes the scopes of a tree: `scopes[node]` for the module and every class, function and lambda in it."""

    def __init__(self, path: str):
        self.path = path
        self.scope = Scope("")
        self.scopes: dict[ast.AST, Scope] = {}
        self.modules: set[str] = set()  # dotted paths that are modules for certain

    def visit_Module(self, node: ast.Module) -> None:
        self.scopes[node] = self.scope
        self.generic_visit(node)

    def visit_Import(self, node: ast.Import | ast.ImportFrom) -> None:
        for module, name, bound in imported(node, self.path):
            whole = f"{module}.{name}" if name else module
            plain = isinstance(node, ast.Import) and bound == module.split(".")[0]
            self.scope.alias(bound, bound if plain else whole)
            self.modules |= set() if name else {module, module.split(".")[0]}
            self.scope.define(bound)

    visit_ImportFrom = visit_Import

    def visit_ClassDef(self, node: ast.ClassDef) -> None:
        self._enter(node, node.name, [*node.decorator_list, *node.bases, *node.keywords], node.body)

    def visit_FunctionDef(self, node: ast.FunctionDef | ast.AsyncFunctionDef) -> None:
        self._enter(node, node.name, [*node.decorator_list, node.args, node.returns], node.body)

    visit_AsyncFunctionDef = visit_FunctionDef

    def visit_Lambda(self, node: ast.Lambda) -> None:
        self._enter(node, "", [node.args], [node.body])

    def visit_ListComp(self, node: Comprehension) -> None:
        self._enter(node, "", [], list(ast.iter_child_nodes(node)))

    visit_SetComp = visit_DictComp = visit_GeneratorExp = visit_ListComp

    def _enter(self, node: ast.AST, name: str, outside: list, body: list) -> None:
        if name:
            self.scope.define(name)
        for part in outside:
            if part is not None:
                self.visit(part)
        outer, self.scope = self.scope, self.scope.child(name, isinstance(node, ast.ClassDef))
        self.scopes[node] = self.scope
        if arguments := getattr(node, "args", None):
            self.scope.bound |= {part.arg for part in ast.walk(arguments) if isinstance(part, ast.arg)}
        for part in body:
            self.visit(part)
        self.scope = outer

    def visit_Assign(self, node: ast.Assign) -> None:
        for target in node.targets:
            self._assign(target, node.value)
        self.generic_visit(node)

    def visit_AnnAssign(self, node: ast.AnnAssign | ast.NamedExpr) -> None:
        if node.value is not None:
            self._assign(node.target, node.value)
        self.generic_visit(node)

    visit_NamedExpr = visit_AnnAssign

    def _assign(self, target: ast.expr, value: ast.expr) -> None:
        if isinstance(target, ast.Name) and (_mentions(value) or literal_getattr(value)):
            self.scope.alias(target.id, value)
        elif isinstance(target, ast.Tuple) and isinstance(value, ast.Tuple) and len(target.elts) == len(value.elts):
            for one, meaning in zip(target.elts, value.elts, strict=True):
                self._assign(one, meaning)

    def visit_Name(self, node: ast.Name) -> None:
        if not isinstance(node.ctx, ast.Load):
            self.scope.bound.add(node.id)

    def visit_ExceptHandler(self, node: ast.ExceptHandler) -> None:
        if node.name:
            self.scope.bound.add(node.name)
        self.generic_visit(node)
