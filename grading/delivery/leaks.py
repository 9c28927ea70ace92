"""What a lab branch must never show. A git server hands out any object by its SHA, so hidden means absent."""

import ast
from collections.abc import Iterator
from functools import lru_cache

from grading.course import holes, trees
from grading.course.catalog import Course, Lab
from grading.course.syntax import parse
from grading.course.upstream import is_upstream
from grading.delivery.plumbing import Tree

HIDDEN_FOLDERS = ("hidden", "mistakes", "mainline")
HIDDEN_FILES = ("exam.yaml", "fingerprints.json", "hints.yaml")
SPEAKING = 3  # a body of fewer statements may stand elsewhere by right: `return _reduce(input_)`
DEFINITIONS = (ast.FunctionDef, ast.AsyncFunctionDef)
Node = ast.FunctionDef | ast.AsyncFunctionDef


class Guard:
    """The maintainers' side of a course, read once, to hold trees against.

    Upstream's own files are anybody's to read: what a reference has in common with them is no secret.
    """

    def __init__(self, course: Course):
        self.course = course
        self.hidden = dict(_hidden_files(course))
        self.answers = {hole: _answer(course, hole) for lab in course.labs for hole in lab.all_holes}
        self.owners = {hole: lab.id for lab in course.labs for hole in lab.all_holes}

    def leaks(self, lab: Lab, *candidates: Tree, released: bool = False) -> list[str]:
        """One sentence for each thing in the trees that belongs to the maintainers; none: they may be published.

        `released`: the lab's own reference is to be seen.
        """
        shown = {*trees.shows(self.course, lab), *(lab.all_holes if released else [])}
        secret = [hole for hole in self.answers if hole not in shown]
        found = [
            sentence
            for tree in candidates
            for sentence in (*self._files(lab, tree), *self._holes(secret, tree), *self._copies(secret, tree))
        ]
        return list(dict.fromkeys(found))

    def _files(self, lab: Lab, tree: Tree) -> Iterator[str]:
        for path, content in tree.items():
            if path.partition("/")[0] in (*HIDDEN_FOLDERS, *HIDDEN_FILES):
                yield f"{lab.branch} would show {path}"
            elif content in self.hidden:
                yield f"{lab.branch} would show {self.hidden[content]} as {path}"

    def _holes(self, secret: list[str], tree: Tree) -> Iterator[str]:
        for hole in secret:
            path, _, name = hole.partition("::")
            found = _definitions(tree[path]).get(name) if path in tree else None
            if found is not None and not _is_stub(found):
                yield f"{path} would show the reference of {name}, a hole of {self.owners[hole]}"

    def _copies(self, secret: list[str], tree: Tree) -> Iterator[str]:
        answers = {_dump(self.answers[hole]): hole for hole in secret if _statements(self.answers[hole]) >= SPEAKING}
        outlines = {_outline(self.answers[hole]) for hole in answers.values()}
        for path, content in tree.items():
            for node in _functions(content) if path.endswith(".py") and not is_upstream(path) else []:
                if _outline(node) in outlines and _dump(node) in answers:
                    yield f"{path} would show the reference of {answers[_dump(node)]} as {node.name}"


def _hidden_files(course: Course) -> Iterator[tuple[bytes, str]]:
    """(content, path) of every file that no branch may carry; empty ones say nothing."""
    for lab in course.labs:
        folders = [path for name in HIDDEN_FOLDERS for path in sorted((lab.folder / name).rglob("*"))]
        for path in [*folders, *(lab.folder / name for name in HIDDEN_FILES)]:
            if path.is_file() and (content := path.read_bytes()).strip():
                yield content, path.relative_to(course.root).as_posix()


def _answer(course: Course, hole: str) -> Node:
    path, _, name = hole.partition("::")
    return _definitions((course.root / path).read_bytes())[name]


@lru_cache(maxsize=4096)
def _definitions(source: bytes) -> dict[str, Node]:
    return {name: found.node for name, found in holes.definitions(source.decode()).items()}


@lru_cache(maxsize=4096)
def _functions(content: bytes) -> list[Node]:
    try:
        return [node for node in ast.walk(parse(content)) if isinstance(node, DEFINITIONS)]
    except (SyntaxError, ValueError):
        return []


def body(node: Node) -> list[ast.stmt]:
    """The statements after the docstring."""
    return node.body[1:] if ast.get_docstring(node, clean=False) is not None else node.body


def _is_stub(node: Node) -> bool:
    match body(node):
        case [ast.Raise(exc=ast.Call(func=ast.Name(id="NotImplementedError")))]:
            return True
    return False


def _statements(node: Node) -> int:
    return sum(isinstance(inner, ast.stmt) for statement in body(node) for inner in ast.walk(statement))


def _outline(node: Node) -> tuple[type, ...]:
    """What is cheap to compare first."""
    return tuple(type(statement) for statement in body(node))


def _dump(node: Node) -> str:
    return "\n".join(ast.dump(statement) for statement in body(node))
