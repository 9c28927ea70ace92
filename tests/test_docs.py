"""What the documents show is there: commands and options of `labs`, targets of make, files, headings, cases."""

import re
from collections.abc import Iterator
from pathlib import Path

import pytest
import typer

from grading.cli.main import app

ROOT = Path(__file__).resolve().parents[1]
DOCS = [*sorted(ROOT.glob("*.md")), *sorted((ROOT / "docs").rglob("*.md")), *sorted(ROOT.glob("challenges/*/task.md"))]
FENCE = re.compile(r"^```(\w*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
INLINE = re.compile(r"(?<!`)`([^`\n]+)`(?!`)")
LINK = re.compile(r"(?<!!)\[[^\]]+\]\(([^)\s]+)\)")
SHELL = {"", "sh", "console"}
CORPUS = sorted({path.name[:3] for path in (ROOT / "tests" / "attacks").glob("*/[ABC][0-9][0-9]*.py")})
COMMAND = re.compile(r"(?:^|[\s;&|(])(?:\S*/)?(labs|make) +([^#;&|>`]*)")


def shown(path: Path) -> Iterator[tuple[str, str]]:
    """("labs", "start l05 ../l05") for each command of a document's shell blocks and of its `code` in text."""
    text = path.read_text(encoding="utf-8")
    prose = FENCE.sub("", text)
    lines = [line for kind, block in FENCE.findall(text) if kind in SHELL for line in block.splitlines()]
    lines += [line for line in prose.splitlines() if line.startswith("    ")] + INLINE.findall(prose)
    for line in lines:
        line = line.strip().removeprefix("$ ")
        if line.startswith(("labs ", "make ")) or "&& labs " in line or "/labs " in line:
            yield from ((name, rest.strip()) for name, rest in COMMAND.findall(line))


def unknown(words: list[str]) -> str:
    """What `labs WORDS` says that the program does not have, or ""."""
    command = typer.main.get_command(app)
    while hasattr(command, "commands") and words:
        name, *words = words
        if name not in command.commands:
            return "" if name.startswith("-") else name
        command = command.commands[name]
    options = {option for parameter in command.params for option in parameter.opts} | {"--help", "-h"}
    return next((word for word in words if re.match(r"--?[a-z]", word) and word not in options), "")


@pytest.mark.parametrize("path", DOCS, ids=lambda path: str(path.relative_to(ROOT)))
def test_every_command_exists(path):
    targets = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(), re.MULTILINE))
    wrong = []
    for name, rest in shown(path):
        words = [word.strip("[]'\"") for word in rest.split()]
        if unknown(words) if name == "labs" else words[0] not in targets:
            wrong.append(f"{name} {rest}")
    assert wrong == []


@pytest.mark.parametrize("path", DOCS, ids=lambda path: str(path.relative_to(ROOT)))
def test_every_link_leads_somewhere(path):
    wrong = []
    for link in LINK.findall(FENCE.sub("", path.read_text(encoding="utf-8"))):
        if not link.startswith(("https://", "http://", "mailto:")):
            file, _, heading = link.partition("#")
            target = (path.parent / file) if file else path
            if not target.exists() or (heading and heading not in anchors(target)):
                wrong.append(link)
    assert wrong == []


def anchors(path: Path) -> set[str]:
    """The names that GitHub gives to the headings of a document."""
    headings = re.findall(r"^#+ (.+)$", FENCE.sub("", path.read_text(encoding="utf-8")), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


def rows(cell: str) -> set[str]:
    """The rows of the attack corpus that a cell names: "A30 B04 B06-B08" are five."""
    found = set()
    for table, first, last in re.findall(r"\b([ABC])(\d\d)(?:-\1(\d\d))?\b", cell):
        found |= {f"{table}{number:02}" for number in range(int(first), int(last or first) + 1)}
    return found


def defended(row: str) -> set[str]:
    """The properties in the headers of a row's cases, all its letters together."""
    sources = [path.read_text(encoding="utf-8") for path in (ROOT / "tests" / "attacks").glob(f"*/{row}*.py")]
    lines = [line for source in sources for line in re.findall(r"(?im)^defends\b.*$", source)]
    return set(re.findall(r"\bP\d+\b", "\n".join(lines)))


def test_security_names_for_each_property_what_proves_it():
    lines = re.findall(r"^\| (P\d+) \| (.*) \|$", (ROOT / "SECURITY.md").read_text(encoding="utf-8"), re.MULTILINE)
    assert [name for name, _ in lines] == [f"P{number}" for number in range(1, 15)]
    for name, line in lines:
        _, places, proof, limit = line.split(" | ")
        paths = [ROOT / path for path in INLINE.findall(proof)]
        assert limit, name
        assert all(path.exists() for path in [*paths, *(ROOT / "grading" / place for place in places_of(places))]), name
        assert sorted(rows(proof)) == [row for row in CORPUS if name in defended(row)], name
        assert rows(proof) or paths, name


def places_of(cell: str) -> Iterator[str]:
    """`sandbox/jail.py`, `spec.py` -> both in sandbox/: a name without a folder is in the one before it."""
    folder = ""
    for place in INLINE.findall(cell):
        folder = place.rpartition("/")[0] or folder
        yield place if "/" in place else f"{folder}/{place}"


def test_the_readers_of_this_test_find_what_is_wrong():
    assert unknown(["start", "l05", "../l05"]) == ""
    assert unknown(["hub", "init", "DIR", "--course", "PATH"]) == ""
    assert unknown(["fly", "l05"]) == "fly"
    assert unknown(["hub", "fly"]) == "fly"
    assert unknown(["test", "--fast"]) == "--fast"
    assert rows("A30 B04 B06-B08 `tests/x.py`") == {"A30", "B04", "B06", "B07", "B08"}
    assert defended("B04") == {"P2", "P5"}
    assert defended("B00") == set()
    assert list(places_of("`sandbox/jail.py`, `spec.py`")) == ["sandbox/jail.py", "sandbox/spec.py"]
