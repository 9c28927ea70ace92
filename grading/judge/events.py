"""The recorder's events as the judge holds them, and what they claim to have cost on the wire."""

import json
from typing import Any, NamedTuple

from grading.judge.rank import Rank

MAX_EVENTS = 50_000
EVENT_NBYTES = 16 << 10  # a parsed line of `[],[],…` takes twenty times its own length
DTYPE_NBYTES = {
    "float64": 8,
    "int64": 8,
    "float32": 4,
    "int32": 4,
    "bfloat16": 2,
    "float16": 2,
    "int8": 1,
    "uint8": 1,
    "bool": 1,
}
FIELDS = {"case": int, "phase": str, "kind": str, "op": str, "group": list, "numel": int}
FIELDS |= {"dtype": str, "async_op": bool, "file": str, "line": int}


class Event(NamedTuple):
    """One post, wait or aten operation of one rank; `numel` counts what this rank passes in."""

    case: int
    phase: str
    kind: str
    op: str
    group: tuple[int, ...]
    numel: int
    dtype: str
    async_op: bool
    file: str
    line: int


def raw_events(rank: Rank) -> list[dict[str, Any]]:
    """The well-formed lines of a rank's event pipe; anything else there is the rank's own noise."""
    events = []
    for line in bytes(rank.events).split(b"\n")[:MAX_EVENTS]:
        try:
            event = json.loads(line) if len(line) <= EVENT_NBYTES else None
        except (ValueError, RecursionError):
            continue
        if _well_formed(event):
            events.append({key: event[key] for key in FIELDS})
    return events


def _well_formed(event: Any) -> bool:
    """Only what the recorder could have written: sums over `numel` must not overflow, a group is of ranks."""
    if not isinstance(event, dict) or any(type(event.get(key)) is not kind for key, kind in FIELDS.items()):
        return False
    return 0 <= event["numel"] < 1 << 62 and all(type(member) is int for member in event["group"])


def events_of(rank: Rank) -> list[Event]:
    return [Event(**event | {"group": tuple(event["group"])}) for event in raw_events(rank)]


def claimed_nbytes(records: list[list[Event]]) -> int:
    """gloo's bytes on the loopback for all recorded posts of all ranks (measured factors; payload per rank).

    For n ranks: all_reduce 2(n-1)·N and reduce_scatter 2(n-1)·N of the full tensor's N bytes, once a collective;
    all_gather (n-1)·N of the full output; broadcast (n-1)·N; a send its own bytes.
    """
    total = 0.0
    for events in records:
        for event in events:
            if event.kind == "post":
                total += _wire_share(event) * event.numel * DTYPE_NBYTES.get(event.dtype, 4)
    return int(total)


def _wire_share(event: Event) -> float:
    """Bytes on the wire for each byte that one rank passes in, so that the sum over ranks is the collective's."""
    n = max(1, len(event.group))
    shares = {"all_reduce": 2 * (n - 1) / n, "reduce_scatter": 2 * (n - 1) / n, "all_gather": float(n - 1)}
    return (shares | {"broadcast": (n - 1) / n, "send": 1.0, "all_to_all": (n - 1) / n}).get(event.op, 0.0)
