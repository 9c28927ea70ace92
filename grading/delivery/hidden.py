"""All that a course hides, and whether a repository shows any of it: every object is read, reachable or not.

Texts are compared word by word, so that spaces, line ends, signs, letter case and comments make no difference. A secret
is cut into pieces; one that also stands in what everybody may read is no secret and is forgotten. A piece that turns up
in an object gives the secret away, wherever it stands: in a file, a note, the message of a commit.
"""

import re
import subprocess
from collections.abc import Collection, Iterable, Iterator
from pathlib import Path

from grading.course import holes, trees
from grading.course.catalog import Course, Lab, by_file
from grading.course.plumbing import OPTIONS
from grading.course.upstream import upstream_files
from grading.delivery.leaks import HIDDEN_FOLDERS, body
from grading.delivery.plumbing import Tree
from grading.feedback import exam

PIECE = 8  # words; so any copy of 15 in a row, two or three lines, holds a whole piece
FEWEST = 4  # words; a shorter text says nothing
WORD = re.compile(r"\w+")
REMARK = re.compile(r"#.*")
ENTRY = re.compile(rb"\d+ ([^\0]+)\0.{20}", re.DOTALL)  # of a tree object: mode, name, SHA
FILES = ("fingerprints.json", "equivalent.yaml")
PUBLIC = ("lab.yaml", "task.md", "lesson.py", "probes.py", "hints.yaml", "tests", "tickets")
Piece = tuple[str, ...]


class Hidden:
    """The secrets of a course in pieces. A reference is none once its lab is in `released`, or a branch shows it."""

    def __init__(self, course: Course, released: Collection[str] = ()):
        self.course = course
        shown = {hole for lab in course.labs for hole in trees.shows(course, lab)}
        self.answers = [name for lab in course.labs if lab.id not in released for name in _answers(lab, shown)]
        self.names = {*HIDDEN_FOLDERS, *FILES}
        self.pieces: dict[Piece, str] = {}
        self.short: dict[str, str] = {}
        for name, text in self.secrets():
            self._learn(name, text)
        for text in self._public():
            self._forget(text)

    def leaks(self, repository: Path) -> list[str]:
        """One sentence for each object and secret that it shows; none: whoever has it all knows nothing hidden."""
        found = []
        for sha, kind, content in objects(repository):
            shown = self._entries(content) if kind == "tree" else self.shown(content.decode(errors="replace"))
            found += [f"{kind} {sha[:10]} shows {name}" for name in sorted(shown)]
        return found

    def in_trees(self, *candidates: Tree) -> list[str]:
        """The same of files that are in no repository yet: path and secret."""
        files = {pair for tree in candidates for pair in tree.items()}
        found = [(path, self.shown(content.decode(errors="replace"))) for path, content in files]
        found += [(path, self._named(path.split("/"))) for path, _ in files]
        return sorted({f"{path} shows {name}" for path, names in found for name in names})

    def shown(self, text: str) -> set[str]:
        """The secrets that a text gives away."""
        found = set()
        for words in _views(text):
            found |= {self.pieces[piece] for piece in self.pieces.keys() & set(_runs(words))}
            line = _line(words)
            found |= {name for short, name in self.short.items() if short in line}
        return found

    def _entries(self, tree: bytes) -> set[str]:
        return self._named(name.decode(errors="replace") for name in ENTRY.findall(tree))

    def _named(self, names: Iterable[str]) -> set[str]:
        return {f"a file or folder called {name}" for name in self.names.intersection(names)}

    def secrets(self) -> Iterator[tuple[str, str]]:
        """(where it stands, text) of all that nobody may read."""
        for lab in self.course.labs:
            for path in [path for name in (*HIDDEN_FOLDERS, *FILES) for path in _files(lab, name)]:
                yield path.relative_to(self.course.root).as_posix(), path.read_text(encoding="utf-8", errors="replace")
            for question in exam.load(lab):
                yield from ((f"what to look for in {lab.id}'s {question.id}", item) for item in question.look_for)
        for name in self.answers:
            path, _, qualname = name.partition("::")
            yield f"the reference of {name}", _body((self.course.root / path).read_text(encoding="utf-8"), qualname)

    def _public(self) -> Iterator[str]:
        for lab in self.course.labs:
            for path in [path for name in (*PUBLIC, *lab.assets) for path in _files(lab, name)]:
                yield path.read_text(encoding="utf-8", errors="replace")
            yield from (question.question for question in exam.load(lab))
            yield from (content.decode(errors="replace") for content in upstream_files(self.course, lab).values())
        for path in sorted((self.course.root / "mini_infra").rglob("*.py")):
            yield self._without_answers(path)

    def _without_answers(self, path: Path) -> str:
        """A file of mini_infra without the bodies that are secrets."""
        names = by_file(self.answers).get(path.relative_to(self.course.root).as_posix(), [])
        text = path.read_text(encoding="utf-8")
        return holes.edit(text, dict.fromkeys(names, ""), []) if names else text

    def _learn(self, name: str, text: str) -> None:
        for words in _views(text):
            if len(words) >= PIECE:
                starts = [*range(0, len(words) - PIECE, PIECE), len(words) - PIECE]
                self.pieces |= {tuple(words[at : at + PIECE]): name for at in starts}
            elif len(words) >= FEWEST:
                self.short[_line(words)] = name

    def _forget(self, text: str) -> None:
        for words in _views(text):
            for piece in self.pieces.keys() & set(_runs(words)):
                del self.pieces[piece]
            line = _line(words)
            self.short = {short: name for short, name in self.short.items() if short not in line}


def _answers(lab: Lab, shown: Collection[str]) -> list[str]:
    """The holes of a lab that no branch shows, and its helpers unless some branch shows a hole."""
    hidden = [name for name in lab.all_holes if name not in shown]
    return hidden + (lab.drop if len(hidden) == len(lab.all_holes) else [])


def _body(source: str, qualname: str) -> str:
    """The statements of a definition after its docstring, with the remarks between them."""
    node = holes.definitions(source)[qualname].node
    inner = body(node)
    return "\n".join(source.splitlines()[inner[0].lineno - 1 : inner[-1].end_lineno]) if inner else ""


def _files(lab: Lab, name: str) -> list[Path]:
    """The file of a lab's folder that is called so, or those below the folder."""
    top = lab.folder / name
    found = [top] if top.is_file() else sorted(top.rglob("*"))
    return [path for path in found if path.is_file() and "__pycache__" not in path.parts]


def _views(text: str) -> Iterator[list[str]]:
    """The words of a text, as it is and without the remarks of code."""
    yield WORD.findall(text.lower())
    if "#" in text:
        yield WORD.findall(REMARK.sub("", text.lower()))


def _runs(words: list[str]) -> Iterator[Piece]:
    return zip(*(words[at:] for at in range(PIECE)), strict=False)


def _line(words: list[str]) -> str:
    return f" {' '.join(words)} "


def objects(repository: Path) -> Iterator[tuple[str, str, bytes]]:
    """(SHA, kind, content) of every object that a repository has, whether or not a ref reaches it."""
    command = ["git", *OPTIONS, "cat-file", "--batch-all-objects", "--batch", "--unordered", "--buffer"]
    with subprocess.Popen(command, cwd=repository, stdout=subprocess.PIPE) as process:
        while header := process.stdout.readline():
            sha, kind, size = header.decode().split()
            yield sha, kind, process.stdout.read(int(size))
            process.stdout.read(1)
