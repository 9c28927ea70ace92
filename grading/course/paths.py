"""Names of files in a learner's tree: as printable text, as others' disks see them, and where a file went."""

import difflib
import re
import unicodedata

from grading.course.plumbing import Entry, Repository
from grading.course.vetting import Refusal

LONGEST = 200  # characters of a name in a report
MOST_READ = 50  # added files looked into for a file that is missing
NAMES = re.compile(rb"^[ \t]*(?:async[ \t]+)?(?:def|class)[ \t]+(\w+)", re.MULTILINE)


def shown(path: str) -> str:
    """A name as one printable line: control characters and bytes that are not UTF-8 escaped, long ones cut."""
    try:
        text = path.encode("utf-8", "surrogateescape").decode("utf-8", "backslashreplace")
    except UnicodeEncodeError:  # a lone surrogate that stands for no byte
        text = path.encode("utf-8", "backslashreplace").decode()
    text = "".join(letter if letter.isprintable() else _escape(letter) for letter in text)
    return text if len(text) <= LONGEST else f"{text[:LONGEST]}…"


def clashes(editable: list[str], paths: list[str]) -> list[Refusal]:
    """Names that are one file with an editable one, or one folder with a folder of it, where case does not count."""
    ours = {fold(part): (part, path) for path in editable for part in _prefixes(path)}
    found: dict[tuple[str, str], Refusal] = {}
    for path in paths:
        for part in _prefixes(path):
            mine, whole = ours.get(fold(part), (part, ""))
            if mine != part and (mine, part) not in found:
                reason = f"{shown(part)} stands beside {mine}: on many disks they are one name; rename or delete one"
                found[mine, part] = Refusal(whole, None, reason)
    return list(found.values())


def fold(name: str) -> str:
    return unicodedata.normalize("NFC", name).casefold()


def likely_new_path(path: str, content: bytes, added: list[Entry], repository: Repository) -> str | None:
    """Of the files that a learner added, the one that has the most of what a missing file defined."""
    sources = [one for one in added if one.path.endswith(".py")][:MOST_READ]
    contents = repository.blobs([one.sha for one in sources])
    wanted = set(NAMES.findall(content))
    shared = {one.path: len(wanted & set(NAMES.findall(contents[one.sha]))) for one in sources}
    best = max(shared, key=shared.get, default=None)
    if best and shared[best] * 2 >= len(wanted) > 0:
        return best
    near = difflib.get_close_matches(path, list(shared), 1, 0.9)
    return near[0] if near else None


def _prefixes(path: str) -> list[str]:
    parts = path.split("/")
    return ["/".join(parts[:depth]) for depth in range(1, len(parts) + 1)]


def _escape(letter: str) -> str:
    return letter.encode("unicode_escape").decode()
