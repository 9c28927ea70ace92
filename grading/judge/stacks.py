"""A rank's last words: faulthandler's dump and the recorder's events, read into frames and one sentence."""

import linecache
import re
from pathlib import Path
from typing import Any

from grading.judge.rank import Rank
from grading.judge.report import Frame, Stack

LINE = re.compile(r'^  File "(?P<path>[^"\n]{1,400})", line (?P<line>\d{1,7}) in (?P<function>.{1,200})$')
MAX_FRAMES = 40


def read_stack(rank: Rank, tree: str, source: Path) -> Stack:
    """Where `rank` stood. `tree` is the branch's root inside the jail, `source` the same folder out here."""
    lines = [LINE.match(line) for line in bytes(rank.stacks).decode(errors="replace").splitlines()]
    calls = [match for match in lines if match][:MAX_FRAMES]
    mine = [call for call in calls if call["path"].startswith(tree + "/")]
    frames = [
        frame(call["path"][len(tree) + 1 :], int(call["line"]), call["function"], source) for call in reversed(mine)
    ]
    return Stack(rank=rank.number, frames=frames, says=_sentence(rank, calls, frames))


def frame(path: str, line: int, function: str, source: Path) -> Frame:
    """One frame of the learner's tree with the text of its line, read from our own copy.

    The path is the rank's word: `source / "/etc/passwd"` would be that file, and `/dev/zero` has an endless line.
    """
    inside = path.isprintable() and not path.startswith("/") and ".." not in Path(path).parts
    text = linecache.getline(str(source / path), line).strip() if inside else ""
    return Frame(path=path[:300], line=line, function=function[:200], text=text[:200])


def _sentence(rank: Rank, calls: list[re.Match[str]], frames: list[Frame]) -> str:
    name = f"rank {rank.number}"
    if rank.answers and rank.answers[-1].arrived:
        return f"{name} has left the function"
    if rank.closed:
        return f"{name} has ended"
    if not calls:
        return f"{name} did not say where it is"
    if not frames:
        return f"{name} has not reached your code"
    here = _place(frames[-1].path, frames[-1].line)
    event = waiting_for(rank) if any("record.py" in call["path"] for call in calls) else None
    if event is None:
        return f"{name} is in {frames[-1].function} at {here}"
    posted = (
        f" (posted {_place(event['file'], event['line'])})" if event["kind"] == "wait" and event.get("file") else ""
    )
    return f"{name} waits for {event['op'][:80]}{posted} at {here}"


def _place(path: str, line: int) -> str:
    """Short enough for a sentence; the frames below it have the whole path."""
    return f"{Path(path).name[-80:]}:{line}"


def waiting_for(rank: Rank) -> dict[str, Any] | None:
    """The last post or wait of the rank, with the place of the post for a wait."""
    from grading.judge.events import raw_events

    events = [event for event in raw_events(rank) if event["kind"] in ("post", "wait")]
    if not events:
        return None
    last = dict(events[-1])
    if last["kind"] == "wait":
        post = next((e for e in reversed(events) if e["kind"] == "post" and e["op"] == last["op"]), None)
        last |= {"file": post["file"], "line": post["line"]} if post else {"file": ""}
    return last
