"""Links of a lab to lines of upstream: each has to say what stands there in the pinned release.

task.md: `[RadixCache.evict](https://github.com/…/blob/v0.5.23/…/radix_cache.py#L552-L580)`. Where the text is a name
that a Python file can define, the lines are those of the whole definition. exam.yaml: `source` of a question, whose
`symbol` is the definition that holds the lines.
"""

import re
from collections.abc import Iterator
from pathlib import Path

from grading.course import cache, snapshots
from grading.course.catalog import Course, Lab
from grading.course.snapshots import Lock, SnapshotError
from grading.course.spans import HoleError, module
from grading.feedback import exam

LINK = re.compile(r"\[`?([^\]`]+)`?\]\((https://[^)\s#]+)(?:#L(\d+)(?:-L(\d+))?)?\)")
NAME = re.compile(r"[A-Za-z_]\w*(\.[A-Za-z_]\w*)*")
Lines = tuple[int, int]


def wrong_links(course: Course, lab: Lab) -> list[str]:
    """One sentence for each link that does not hold; those to releases that are not fetched are taken as they are."""
    locks = snapshots.load(course.root)
    return [*_task(lab, locks), *_exam(lab, locks)]


def _links(lab: Lab) -> Iterator[tuple[int, str, str, Lines | None]]:
    """(line of task.md, text, address, lines) of each link."""
    for number, line in enumerate((lab.folder / "task.md").read_text(encoding="utf-8").splitlines(), 1):
        for text, url, first, last in LINK.findall(line):
            yield number, text, url, (int(first), int(last or first)) if first else None


def _blob(lock: Lock) -> str:
    return f"{lock.repository.removesuffix('/').removesuffix('.git')}/blob/"


def _task(lab: Lab, locks: dict[str, Lock]) -> Iterator[str]:
    for number, text, url, lines in _links(lab):
        lock = next((one for one in locks.values() if url.startswith(_blob(one))), None)
        if lock is None:
            continue
        pinned = f"{_blob(lock)}{lock.ref}/"
        if not url.startswith(pinned):
            yield f"task.md:{number}: {text} links to another version than {lock.ref}, which is pinned: {pinned}…"
        elif cache.have(lock):
            symbol = text if NAME.fullmatch(text) and url.endswith(".py") else ""
            yield from _wrong(f"task.md:{number}", lock, url.removeprefix(pinned), lines, symbol, whole=True)


def _exam(lab: Lab, locks: dict[str, Lock]) -> Iterator[str]:
    for one in exam.load(lab):
        if (source := one.source) is None:
            continue
        if source.snapshot not in locks:
            yield f"exam.yaml, {one.id}: no snapshot {source.snapshot} is pinned"
        elif cache.have(lock := locks[source.snapshot]):
            yield from _wrong(f"exam.yaml, {one.id}", lock, source.path, source.lines, source.symbol, whole=False)


def _wrong(place: str, lock: Lock, path: str, lines: Lines | None, symbol: str, whole: bool) -> Iterator[str]:
    """What is wrong with a link to `lines` of `path`: `whole`, those of the definition `symbol`, or else within it."""
    try:
        text = cache.read(lock, lock.in_snapshot(path))
        spot = module(text).find(symbol) if symbol else None
    except (SnapshotError, HoleError) as error:
        yield f"{place}: {Path(path).name}: {error}"
        return
    first, last = lines or (1, 1)
    if spot and whole and lines != (spot.first_line, spot.last_line):
        yield f"{place}: {symbol} stands at {lock.permalink(path, spot.first_line, spot.last_line)}"
    elif spot and not spot.first_line <= first <= last <= spot.last_line:
        there = f"{symbol} stands in lines {spot.first_line} to {spot.last_line} of {path}"
        yield f"{place}: {there}, and lines {first} to {last} are not in it"
    elif not 1 <= first <= last <= len(text.splitlines()):
        yield f"{place}: {path} has {len(text.splitlines())} lines, and no lines {first} to {last}"
