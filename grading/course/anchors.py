"""Anchors: upstream symbols that the course leans on, where they stand, and what became of them in another release."""

import hashlib
import re
import textwrap
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from grading.course.snapshots import Lock, Mark
from grading.course.spans import HoleError, definitions, module

COMMENT = re.compile(r"\s*#")


@dataclass(frozen=True)
class Moved:
    """What became of an anchor: "same", "moved" (other lines), "changed" (other source) or "gone"."""

    anchor: str
    what: str
    old: tuple[int, int]
    new: tuple[int, int] | None
    why: str = ""


def mark(text: str, qualname: str) -> Mark:
    """Where a definition stands, its decorators included, and the hash of its source. HoleError where it is not."""
    one = module(text).find(qualname)
    return Mark(lines=(one.first_line, one.last_line), source=fingerprint(text[one.start : one.end], one.indent))


def fingerprint(source: str, indent: str = "") -> str:
    """16 hex digits over the lines of code: not the indentation of the whole, comment lines, blank lines, line ends."""
    lines = textwrap.dedent(indent + source).splitlines()
    code = [line.rstrip() for line in lines if line.strip() and not COMMENT.match(line)]
    return hashlib.sha256("\n".join(code).encode()).hexdigest()[:16]


def look(lock: Lock, top: Path) -> Iterator[Moved]:
    """Each anchor of the lock, looked up in the release that is unpacked at `top`."""
    for anchor, old in lock.anchors.items():
        path, _, qualname = anchor.partition("::")
        try:
            text = (top / path).read_text(encoding="utf-8")
            new = mark(text, qualname)
        except (OSError, UnicodeDecodeError):
            yield Moved(anchor, "gone", old.lines, None, f"no file {path}")
        except HoleError:
            yield Moved(anchor, "gone", old.lines, None, _elsewhere(text, qualname, old))
        else:
            yield Moved(anchor, _change(old, new), old.lines, new.lines)


def _change(old: Mark, new: Mark) -> str:
    if new.source != old.source:
        return "changed"
    return "same" if new.lines == old.lines else "moved"


def _elsewhere(text: str, qualname: str, old: Mark) -> str:
    """Whether the file has the same source under another name; a new name changes only the first lines."""
    last = qualname.rpartition(".")[2]
    try:
        names = list(definitions(text))
    except HoleError as error:
        return str(error)
    same = [name for name in names if name.rpartition(".")[2] == last]
    return f"no {qualname} in it" + (f", but {', '.join(same)}" if same else "")
