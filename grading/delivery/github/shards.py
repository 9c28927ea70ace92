"""The results of a course's shards put together again: one table of gradings, one of the author gate."""

import json
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from pydantic import BaseModel, ConfigDict, ValidationError

from grading.course.catalog import Course, Lab
from grading.delivery.answers import labs_with
from grading.feedback.escape import inline
from grading.judge.report import Report

INFRA = 3
SIGN = {True: "✅", False: "❌"}


class Mutants(BaseModel):
    """`score`: the share that a hidden test kills, 0 to 1."""

    model_config = ConfigDict(extra="ignore", frozen=True)

    tried: int
    score: float


class Gate(BaseModel):
    """A row of `labs check --json`, as far as the table shows it."""

    model_config = ConfigDict(extra="ignore", frozen=True)

    lab: str
    good: bool
    tests: int
    mistakes: int
    seconds: float
    misses: list[str]
    mutation: Mutants | None = None


@dataclass
class Merged:
    """What all shards found, in the course's order. `lost`: a sentence for each result that should be there."""

    reports: list[Report] = field(default_factory=list)
    gates: list[Gate] = field(default_factory=list)
    lost: list[str] = field(default_factory=list)

    @property
    def exit_code(self) -> int:
        """That of the worst result; a lost one is INFRA."""
        codes = [report.exit_code for report in self.reports] + [int(not gate.good) for gate in self.gates]
        return INFRA if self.lost else max(codes, default=0)

    def as_json(self) -> dict:
        dumped = {name: [one.model_dump(mode="json") for one in getattr(self, name)] for name in ("reports", "gates")}
        return {**dumped, "lost": self.lost}

    def markdown(self) -> str:
        """The page of a workflow's run."""
        parts = [f"- {inline(one)}" for one in self.lost]
        if self.reports:
            passed = sum(report.verdict == "PASS" for report in self.reports)
            parts += [
                f"\n### {passed} of {len(self.reports)} gradings pass\n",
                *_table(REPORT, map(_report, self.reports)),
            ]
        if self.gates:
            good = sum(gate.good for gate in self.gates)
            parts += [
                f"\n### {good} of {len(self.gates)} labs pass the author gate\n",
                *_table(GATE, map(_gate, self.gates)),
            ]
        return "\n".join(parts)


def merge(course: Course, paths: Iterable[Path]) -> Merged:
    """Read the JSON files at `paths`, and in the folders among them, of `labs grade --all` and `labs check`."""
    merged = Merged()
    for path in paths:
        for file in sorted(path.rglob("*.json")) if path.is_dir() else [path]:
            _take(merged, file)
    merged.reports.sort(key=lambda one: (one.seal, _place(course, one.lab)))
    merged.gates.sort(key=lambda one: _place(course, one.lab))
    merged.lost += _absent("labs check", course.labs, [gate.lab for gate in merged.gates])
    for seal in sorted({report.seal for report in merged.reports}):
        found = [report.lab for report in merged.reports if report.seal == seal]
        merged.lost += _absent(f"labs grade --seal {seal}", labs_with(course, seal), found)
    if not merged.reports and not merged.gates:
        merged.lost.append("no shard has left a result")
    return merged


def _take(merged: Merged, file: Path) -> None:
    try:
        for row in json.loads(file.read_bytes()):
            if "verdict" in row:
                merged.reports.append(Report.model_validate(row))
            else:
                merged.gates.append(Gate.model_validate(row))
    except (OSError, ValueError, TypeError, ValidationError, RecursionError):
        merged.lost.append(f"{file} is no result of `labs grade --all --json` or `labs check --json`")


def _place(course: Course, lab: str) -> int:
    return course.order.index(lab) if lab in course.order else len(course.order)


def _absent(command: str, labs: Sequence[Lab], found: Sequence[str]) -> list[str]:
    """Each lab has one result of a command that any shard has run."""
    counts = Counter(found)
    wrong = [lab.id for lab in labs if counts[lab.id] != 1] if found else []
    return [f"{name}: {counts[name] or 'no'} results of `{command}`" for name in wrong]


REPORT = ["", "lab", "verdict", "tests", "s", "why"]
GATE = ["", "lab", "tests", "mistakes", "mutants killed", "s", "what lacks"]


def _report(one: Report) -> list[str]:
    name = one.lab if one.seal == "patch" else f"{one.lab} {one.seal}"
    tests = f"{one.passed_count}/{len(one.tests)}"
    return [SIGN[one.verdict == "PASS"], name, one.verdict, tests, f"{one.seconds:.1f}", inline(one.reason)]


def _gate(one: Gate) -> list[str]:
    mutants = f"{one.mutation.score:.1%} of {one.mutation.tried}" if one.mutation else "–"
    counts = [str(one.tests), str(one.mistakes), mutants, f"{one.seconds:.0f}"]
    return [SIGN[one.good], one.lab, *counts, "; ".join(map(inline, one.misses))]


def _table(head: list[str], rows: Iterable[list[str]]) -> list[str]:
    lines = [head, ["---"] * len(head), *rows]
    return [f"| {' | '.join(line)} |" for line in lines]
