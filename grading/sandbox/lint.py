"""The lint: a fence with good messages around the patch, never the wall (that is the jail).

It judges what the starter does not have: a finding on a syntax node that stands, alike, in the starter's version of
the same definition is dropped. So the starter has no findings against itself, whatever it does.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Mapping
from functools import lru_cache
from typing import TYPE_CHECKING

from grading.course.submission import Refusal
from grading.course.syntax import parse
from grading.sandbox import fence
from grading.sandbox.names import Binder, Comprehension, Definition, Scope, imported, literal_getattr, resolve

if TYPE_CHECKING:
    from grading.course.catalog import Lab

MONKEYPATCH = "other modules stay as they are; write a function of your own and call that"


def lint(path: str, source: str, starter: str, lab: Lab, closure: Iterable[str]) -> list[Refusal]:
    """Refusals for the file `path` (POSIX, from the tree's root), in the order of its lines.

    closure: the files of mini_infra that the lab's branch shows. A file that does not parse has none: the learner is
    to read Python's own message, from the run.
    """
    try:
        tree = parse(source)
        judge = _Judge(path, _starter(path, starter), lab, frozenset(closure))
        judge.run(tree)
    except (SyntaxError, ValueError):
        return []
    except (RecursionError, MemoryError):
        return [Refusal(path, None, "nested too deeply to be read; split the expression up")]
    return sorted(judge.found, key=lambda refusal: refusal.line or 0)


class _Starter:
    """What the starter's version of the file has: its imports, and by definition the nodes that stand in it."""

    def __init__(self, path: str, source: str):
        self.imports: set[str] = set()
        self.nodes: dict[str, set[str]] = {}
        tree = parse(source)
        self._collect(tree, "")
        for node in ast.walk(tree):
            if isinstance(node, ast.Import | ast.ImportFrom):
                for module, name, _ in imported(node, path):
                    self.imports |= {module, f"{module}.{name}" if name else module}

    def _collect(self, node: ast.AST, qualname: str) -> None:
        """Decorators, defaults and bases belong to the scope around the definition, where they are evaluated."""
        nodes = self.nodes.setdefault(qualname, set())
        if isinstance(node, ast.expr | ast.Import | ast.ImportFrom):
            nodes.add(ast.dump(node))
        inner = f"{qualname}.{node.name}".lstrip(".") if isinstance(node, Definition) else qualname
        self.nodes.setdefault(inner, set())
        for child in ast.iter_child_nodes(node):
            inside = isinstance(node, Definition) and child in node.body
            self._collect(child, inner if inside else qualname)

    def has(self, node: ast.AST, scope: Scope) -> bool:
        return ast.dump(node) in self.nodes.get(scope.qualname.rstrip("."), ())

    def defines(self, qualname: str) -> bool:
        return qualname in self.nodes


@lru_cache(maxsize=128)
def _starter(path: str, source: str) -> _Starter:
    return _Starter(path, source)


class _Judge(ast.NodeVisitor):
    def __init__(self, path: str, starter: _Starter, lab: Lab, closure: frozenset[str]):
        self.path, self.starter, self.lab, self.closure = path, starter, lab, closure
        self.found: list[Refusal] = []
        self.aliased: ast.expr | None = None

    def run(self, tree: ast.Module) -> None:
        binder = Binder(self.path)
        binder.visit(tree)
        self.scopes, self.scope, self.modules = binder.scopes, binder.scope, binder.modules
        self.visit(tree)

    def _refuse(self, node: ast.AST, reason: str) -> None:
        refusal = Refusal(self.path, node.lineno, reason)
        if not self.starter.has(node, self.scope) and refusal not in self.found:
            self.found.append(refusal)

    # imports

    def visit_Import(self, node: ast.Import | ast.ImportFrom) -> None:
        for module, name, _ in imported(node, self.path):
            whole = f"{module}.{name}" if name else module
            if whole in self.starter.imports:
                continue
            if name == "*":
                self._refuse(node, f"from {module} import *: name what you import")
            elif reason := self._forbidden(whole) or self._import_refused(module, name):
                self._refuse(node, reason)

    visit_ImportFrom = visit_Import

    def _import_refused(self, module: str, name: str) -> str:
        whole = f"{module}.{name}" if name else module
        if _below(whole, self.lab.allow.imports):
            return ""
        if module.split(".")[0] == "mini_infra":
            shown = self._shown(module) if name else self._shown(whole)
            return "" if shown else f"import of {whole}: this lab's branch has no such module"
        if module.split(".")[0] in fence.IMPORTS or module in self.starter.imports:
            return self._path_refused(whole)
        return (
            f"import of {module}: a patch of this lab may use torch, the standard library's mathematics and containers "
            f"(math, typing, dataclasses, collections, itertools, heapq, …), and what the file imports already"
        )

    def _shown(self, module: str) -> bool:
        stem = module.replace(".", "/")
        return f"{stem}.py" in self.closure or f"{stem}/__init__.py" in self.closure

    # names and attributes

    def visit_Call(self, node: ast.Call) -> None:
        """A refused function is reported as the whole call, so that a starter's call excuses only that call."""
        if (name := literal_getattr(node)) is not None:
            self._attribute(node, name)
            self._uses(node, node)
        elif isinstance(node.func, ast.Name | ast.Attribute):
            self._by_name(node)
        if isinstance(node.func, ast.Name | ast.Attribute):
            self._chain(node.func, node)
        else:
            self.visit(node.func)
        given = node.args[1:] if name is not None and resolve(node.args[0], self.scope) else node.args
        for part in [*given, *node.keywords]:
            self.visit(part)

    def _by_name(self, node: ast.Call) -> None:
        """Attributes asked for by text: the text has to stand there, and then counts like the attribute."""
        for path in resolve(node.func, self.scope) & fence.BY_NAME:
            names = node.args[1:2] if path == "builtins.getattr" else node.args
            texts = [name.value for name in names if isinstance(name, ast.Constant) and isinstance(name.value, str)]
            called = path.rpartition(".")[2]
            if len(texts) < len(names) and called not in self.lab.allow.builtins:
                self._refuse(node, f"{called} with a computed name: write the attribute itself, thing.name")
            for part in ".".join(texts).split("."):
                self._attribute(node, part)

    def visit_Name(self, node: ast.Name) -> None:
        self._chain(node, node)

    def visit_Attribute(self, node: ast.Attribute) -> None:
        self._chain(node, node)

    def _chain(self, node: ast.expr, subject: ast.AST) -> None:
        """Judge a.b.c as a whole, then each attribute in it, then whatever stands at its root."""
        if isinstance(node.ctx, ast.Load):
            self._uses(node, subject)
        elif isinstance(node, ast.Attribute) and (owners := resolve(node.value, self.scope)):
            self._refuse(node, f"assignment to {min(owners)}.{node.attr}: {MONKEYPATCH}")
        elif isinstance(node, ast.Attribute) and self._class_of(node.value):
            self._refuse(node, f"assignment to {node.attr} of an object's class: set it on the object itself")
        link = node
        while isinstance(link, ast.Attribute):
            self._attribute(subject if link is node else link, link.attr)
            link = link.value
        if isinstance(link, ast.Name):
            self._dunder_name(link)
        else:
            self.visit(link)

    def _class_of(self, node: ast.expr) -> bool:
        """type(x) or x.__class__, which may be anybody's class."""
        called = isinstance(node, ast.Call) and "builtins.type" in resolve(node.func, self.scope)
        return called or (isinstance(node, ast.Attribute) and node.attr == "__class__")

    def visit_Assign(self, node: ast.Assign) -> None:
        """`t = torch` is followed up by the scopes, so the module may stand there as a value."""
        named = all(isinstance(target, ast.Name) for target in node.targets)
        self.aliased = node.value if named else None
        self.generic_visit(node)

    def _uses(self, node: ast.expr, subject: ast.AST) -> None:
        for path in sorted(resolve(node, self.scope)):
            if path in self.modules and subject is node and node is not self.aliased:
                self._refuse(node, f"{path} as a value: write {path}.name where you use it")
            if path == "builtins.getattr" and subject is node and "getattr" not in self.lab.allow.builtins:
                self._refuse(node, "getattr passed on: write the attribute itself, thing.name")
            elif reason := self._forbidden(path) or self._path_refused(path):
                self._refuse(subject, reason)
                return

    def _forbidden(self, path: str) -> str:
        if prefix := _below(path, self.lab.forbid):
            return f"{path}: {prefix} is what this lab asks you to write; do without it"
        return ""

    def _path_refused(self, path: str) -> str:
        """Why a dotted path may not be used, or ""."""
        if _below(path, self.lab.allow.imports):
            return ""
        root, _, rest = path.partition(".")
        if root == "builtins":
            name = rest.split(".")[0]
            advice = fence.BUILTINS.get(name) if name not in self.lab.allow.builtins else None
            return f"{name}: {advice}" if advice else ""
        for table in (fence.TORCH, fence.DANGEROUS):
            if prefix := _below(path, table):
                return f"{path}: {table[prefix]}"
        carried = next((part for part in rest.split(".") if part in fence.CARRIED), None)
        return f"{path} reaches the module {carried.lstrip('_')}: {fence.ANSWER}" if carried else ""

    def _attribute(self, node: ast.AST, name: str) -> None:
        if name in fence.FRAMES or (_is_dunder(name) and name not in fence.FREE_READS):
            self._refuse(node, f"{name}: {fence.MIRROR}")
        elif name == "__class__" and isinstance(getattr(node, "ctx", None), ast.Store):
            self._refuse(node, f"assignment to {name}: make an object of the class you want")

    def _dunder_name(self, node: ast.Name) -> None:
        free = fence.FREE_READS if isinstance(node.ctx, ast.Load) else fence.FREE_STORES
        reported = node.id in fence.BUILTINS  # __import__ has its own sentence
        if _is_dunder(node.id) and node.id not in free and not reported:
            self._refuse(node, f"{node.id}: {fence.MIRROR}")

    # definitions

    def visit_ClassDef(self, node: ast.ClassDef) -> None:
        for base in node.bases:
            if "torch.Tensor" in resolve(base, self.scope):
                self._refuse(base, "a subclass of torch.Tensor: return plain tensors")
        self._enter(node, [*node.decorator_list, *node.bases, *node.keywords], node.body)

    def visit_FunctionDef(self, node: ast.FunctionDef | ast.AsyncFunctionDef) -> None:
        inner = self.scopes[node].qualname
        if _is_dunder(node.name) and node.name not in fence.FREE_METHODS and not self.starter.defines(inner):
            self._refuse(node, f"definition of {node.name}: it changes what other code sees; write a named method")
        returns = [node.returns] if node.returns else []
        self._enter(node, [*node.decorator_list, node.args, *returns], node.body)

    visit_AsyncFunctionDef = visit_FunctionDef

    def visit_Lambda(self, node: ast.Lambda) -> None:
        self._enter(node, [node.args], [node.body])

    def visit_ListComp(self, node: Comprehension) -> None:
        self._enter(node, [], list(ast.iter_child_nodes(node)))

    visit_SetComp = visit_DictComp = visit_GeneratorExp = visit_ListComp

    def _enter(self, node: ast.AST, outside: list[ast.AST], body: list[ast.AST]) -> None:
        for part in outside:
            self.visit(part)
        outer, self.scope = self.scope, self.scopes[node]
        for part in body:
            self.visit(part)
        self.scope = outer


def _below(path: str, prefixes: Iterable[str] | Mapping[str, str]) -> str:
    """The prefix under which a dotted path falls, or ""."""
    return next((prefix for prefix in prefixes if path == prefix or path.startswith(f"{prefix}.")), "")


def _is_dunder(name: str) -> bool:
    return len(name) > 4 and name.startswith("__") and name.endswith("__")
