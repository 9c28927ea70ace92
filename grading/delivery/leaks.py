"""What a lab branch must never show. A git server hands out any object by its SHA, so hidden means absent."""

import ast
from collections.abc import Iterator
from functools import lru_cache

from grading.course import holes, trees
from grading.course.catalog import Course, Lab
from grading.delivery.plumbing import Tree

HIDDEN_FOLDERS = ("hidden", "mistakes", "mainline")
HIDDEN_FILES = ("exam.yaml", "fingerprints.json", "hints.yaml")
SPEAKING = 3  # a body of fewer statements may stand elsewhere by right: `return _reduce(input_)`


def leaks(course: Course, lab: Lab, tree: Tree) -> list[str]:
    """One sentence for each thing in `tree` that belongs to the maintainers; empty when the tree may be published."""
    secret = secret_holes(course, lab)
    return [*_files(course, lab, tree), *_holes(secret, tree), *_copies(course, secret, tree)]


def hidden_files(course: Course) -> dict[bytes, str]:
    """Content -> path of every file that no branch may carry (empty ones say nothing)."""
    found = {}
    for lab in course.labs:
        folders = [path for name in HIDDEN_FOLDERS for path in sorted((lab.folder / name).rglob("*"))]
        for path in [*folders, *(lab.folder / name for name in HIDDEN_FILES)]:
            if path.is_file() and path.read_bytes().strip():
                found[path.read_bytes()] = path.relative_to(course.root).as_posix()
    return found


def secret_holes(course: Course, lab: Lab) -> dict[str, str]:
    """Hole -> id of its lab, for every hole whose reference this lab's branch may not show."""
    shown = set(trees.shows(course, lab))
    return {hole: other.id for other in course.labs for hole in other.all_holes if hole not in shown}


def _files(course: Course, lab: Lab, tree: Tree) -> Iterator[str]:
    hidden = hidden_files(course)
    for path, content in tree.items():
        first = path.partition("/")[0]
        if first in (*HIDDEN_FOLDERS, *HIDDEN_FILES):
            yield f"{lab.branch} would show {path}"
        elif content in hidden:
            yield f"{lab.branch} would show {hidden[content]} as {path}"


def _holes(secret: dict[str, str], tree: Tree) -> Iterator[str]:
    for hole, owner in secret.items():
        path, _, name = hole.partition("::")
        if path in tree:
            node = _definition(tree[path].decode(), name)
            if node is not None and not _is_stub(node):
                yield f"{path} would show the reference of {name}, a hole of {owner}"


def _copies(course: Course, secret: dict[str, str], tree: Tree) -> Iterator[str]:
    bodies = {}
    for hole in secret:
        path, _, name = hole.partition("::")
        node = _definition((course.root / path).read_text(), name)
        if node is not None and _statements(node) >= SPEAKING:
            bodies[_dump(node)] = hole
    for path, content in tree.items():
        if path.endswith(".py"):
            for body in _bodies(content) & bodies.keys():
                yield f"{path} would show the reference of {bodies[body]} under another name"


def _definition(source: str, name: str) -> ast.AST | None:
    found = holes.definitions(source).get(name)
    return found.node if found else None


def _body(node: ast.AST) -> list[ast.stmt]:
    return node.body[1:] if ast.get_docstring(node) is not None else node.body


def _is_stub(node: ast.AST) -> bool:
    match _body(node):
        case [ast.Raise(exc=ast.Call(func=ast.Name(id="NotImplementedError")))]:
            return True
    return False


def _statements(node: ast.AST) -> int:
    return sum(isinstance(inner, ast.stmt) for statement in _body(node) for inner in ast.walk(statement))


def _dump(node: ast.AST) -> str:
    return "\n".join(ast.dump(statement) for statement in _body(node))


@lru_cache(maxsize=4096)
def _bodies(content: bytes) -> frozenset[str]:
    try:
        nodes = list(ast.walk(ast.parse(content)))
    except (SyntaxError, ValueError):
        return frozenset()
    kinds = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)
    return frozenset(_dump(node) for node in nodes if isinstance(node, kinds))
