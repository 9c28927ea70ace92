"""equivalent.yaml: mutants that no test can kill, because they do what the reference does, each with the reason.

    holes:
      mini_infra/a/b.py::Class.method:
        - line: "if length <= 0:"
          becomes: ["if length < 0:"]
          reason: A length of 0 slices nothing either way.

An entry is matched by its code, spaces aside, and never by a line number.
"""

from collections.abc import Sequence

from pydantic import Field

from grading.authoring.mutants import Mutant
from grading.course.catalog import Lab
from grading.course.marked import Marked
from grading.course.models import Model

STALE = "no mutant turns {line!r} of {hole} into {becomes!r}: mend this entry or take it out"


class Entry(Model):
    """`line` is a line of the reference, `becomes` what mutants make of it (several lines: with line ends)."""

    line: str = Field(min_length=1)
    becomes: list[str] = Field(min_length=1)
    reason: str = Field(min_length=10)


class Holes(Model):
    """The file: hole -> entries."""

    holes: dict[str, list[Entry]]


def split(lab: Lab, mutants: Sequence[Mutant]) -> tuple[list[Mutant], list[Mutant]]:
    """(mutants to kill, equivalent ones). CourseError with file and line where an entry matches none of them."""
    path = lab.folder / "equivalent.yaml"
    if not path.is_file():
        return list(mutants), []
    listed = _listed(Marked(path, f"challenges/{lab.folder.name}/equivalent.yaml"), {_key(one) for one in mutants})
    return [one for one in mutants if _key(one) not in listed], [one for one in mutants if _key(one) in listed]


def _listed(marked: Marked, known: set[tuple[str, str, str]]) -> set[tuple[str, str, str]]:
    listed = set()
    for hole, entries in marked.model(Holes).holes.items():
        for number, entry in enumerate(entries):
            for index, becomes in enumerate(entry.becomes):
                key = (hole, _bare(entry.line), _bare(becomes))
                if key not in known:
                    says = STALE.format(line=entry.line, hole=hole, becomes=becomes)
                    raise marked.error(("holes", hole, number, "becomes", index), says)
                if key in listed:
                    raise marked.error(("holes", hole, number, "becomes", index), f"{becomes!r} stands here twice")
                listed.add(key)
    return listed


def _key(mutant: Mutant) -> tuple[str, str, str]:
    return mutant.hole, _bare(mutant.line), _bare(mutant.becomes)


def _bare(text: str) -> str:
    """Code without its spaces: cosmic-ray writes `x[ 1:]` where a reader writes `x[1:]`."""
    return "".join(text.split())
