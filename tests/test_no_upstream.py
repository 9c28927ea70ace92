"""No line of upstream's source stands in this project's history: every text ever committed, against the cache."""

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from grading.course import cache
from grading.course.plumbing import Repository
from grading.course.snapshots import load

ROOT = Path(__file__).resolve().parents[1]
RUN = 6  # so many lines in a row are no chance; five of an alarm set, tried and taken back have met by chance
SENTENCE = 12  # words of one line of prose
INTERFACE = ("def ", "raise ")  # names, parameters and the messages of errors are upstream's on purpose
CODE = re.compile(r"\w.*\w.*\w")
NAME = re.compile(
    r"\*{0,2}\w+(: [^()]+)?( ?= ?[^()]+)?,|from [\w.]+ import.*|import .*"
)  # a parameter, an import: interface


def said(text: str) -> list[str]:
    """The lines that say something, without their indentation. Names of an interface are the same on purpose."""
    lines = (raw.strip() for raw in text.splitlines())
    return [line for line in lines if CODE.search(line) and not NAME.fullmatch(line)]


def runs(lines: list[str]) -> Iterator[tuple[str, ...]]:
    """Every `RUN` lines in a row, and every long line alone."""
    yield from zip(*(lines[start:] for start in range(RUN)), strict=False)
    yield from ((line,) for line in lines if len(line.split()) >= SENTENCE and not line.startswith(INTERFACE))


def committed() -> dict[str, str]:
    """path@blob -> text of every Python and Markdown file in the history of HEAD, and of the work tree."""
    repository = Repository(ROOT)
    lines = repository.text("rev-list", "--objects", "HEAD").splitlines()
    named = dict(line.split(" ", 1) for line in lines if line.endswith((".py", ".md")))
    texts = {f"{named[sha]}@{sha[:10]}": blob.decode() for sha, blob in repository.blobs(list(named)).items()}
    tracked = repository.text("ls-files", "*.py", "*.md").splitlines()
    return texts | {path: (ROOT / path).read_text(encoding="utf-8") for path in tracked if (ROOT / path).is_file()}


def copies(ours: dict[str, str], theirs: Iterator[tuple[str, str]]) -> list[str]:
    """Where a run of our lines stands upstream."""
    known = {run: path for path, text in ours.items() for run in runs(said(text))}
    lines = {line for run in known for line in run}
    found = []
    for path, text in theirs:
        row: list[str] = []
        for line in [*map(str.strip, text.splitlines()), "the end of the file"]:
            if line in lines:
                row.append(line)
            elif row and said(line):  # seldom asked: upstream has millions of lines
                found += [f"{known[run]}: {run[0][:60]!r} as in {path}" for run in runs(row) if run in known]
                row = []
    return found


def test_the_comparison_finds_copies_and_leaves_common_lines():
    code = "def f(a):\n    b = a + 1\n\n    c = b * 2\n    d = c - 3\n    e = d - b\n    return d + e\n"
    prose = "# one two three four five six seven eight nine ten eleven twelve\n"
    assert len(copies({"a.py": "import os\n" + code}, iter([("u.py", "import sys\n" + code)]))) == 1
    assert len(copies({"a.py": prose}, iter([("u.py", "x = 1\n    " + prose)]))) == 1
    assert copies({"a.py": code}, iter([("u.py", code.replace("b * 2", "b * 3"))])) == []


def test_no_upstream_line_in_the_history():
    here = [lock for lock in load(ROOT).values() if cache.have(lock)]
    if not here:
        pytest.skip("no snapshot to compare with: labs snapshots fetch")
    files = ((f"{lock.name}/{path}", file) for lock in here for path, file in cache.files(cache.folder(lock)).items())
    theirs = (
        (path, file.read_text(encoding="utf-8", errors="replace")) for path, file in files if path.endswith(".py")
    )
    assert copies(committed(), theirs) == []
