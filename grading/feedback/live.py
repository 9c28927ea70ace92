"""`labs watch` on a terminal: one row a test, what the last save led to, the first failure in full; or plain lines."""

from dataclasses import dataclass, replace
from typing import Any

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from grading.course.catalog import Lab
from grading.feedback import outline, terminal
from grading.feedback.escape import clip, visible
from grading.judge.report import Report, TestResult, Verdict
from grading.judge.watch import Round

RUNNING = ("…", "cyan")
ORDER = ["failed", "timeout", "running", "not_run", "passed"]


def lines(done: Round) -> list[str]:
    """A round where no terminal is: what was saved, each failure of this round in a line, the verdict."""
    if done.problem:
        return [visible(line) for line in done.problem.splitlines()]
    failed = [test for test in done.report.failed if test.id in done.ran]
    said = [f"  {test.outcome:<8} {test.id}: {test.sentence} {outline.why(test)}" for test in failed]
    return [_saved(done), *(clip(line, 400) for line in said), _verdict(done.report, done.seconds)]


def _saved(done: Round) -> str:
    if not done.ran:
        return f"saved {_names(done.saved)}: no public test reaches what changed"
    return f"saved {_names(done.saved)}: {outline.count(len(done.ran), 'test')} of {len(done.report.tests)} run"


def _verdict(report: Report, seconds: float) -> str:
    return f"{report.verdict}  {outline.headline(report)} · {seconds:.2f} s"


def _names(paths: list[str]) -> str:
    return ", ".join(path.rpartition("/")[2] for path in paths)


@dataclass(frozen=True)
class _Row:
    sentence: str
    outcome: str
    contract: str = ""
    seconds: float | None = None


class Screen:
    """What a terminal shows. It hears the events of a run while they come, and each round when it is over."""

    def __init__(self, lab: Lab):
        self.lab = lab
        self.rows: dict[str, _Row] = {}  # by test id
        self.status: RenderableType = Text("torch is being loaded …", "dim")
        self.report: Report | None = None

    def hear(self, event: dict[str, Any]) -> None:
        if event["event"] == "saved" and self.rows:
            self.status = Text(f"saved {_names(event['paths'])} …", "cyan")
        elif event["event"] == "start":
            for test in event["ids"]:
                self.rows[test] = replace(self.rows.get(test, _Row(test, "")), outcome="running", seconds=None)
        elif event["event"] == "test":
            self.rows[event["id"]] = replace(
                self.rows[event["id"]], sentence=_sentence(event["id"], event["sentence"]), outcome=event["outcome"]
            )

    def show(self, done: Round) -> None:
        self.report = done.report
        if self.report:
            self.rows = {test.id: _row(test) for test in self.report.tests}
        if done.problem:
            self.status = Group(*(Text(visible(line), "red") for line in done.problem.splitlines()[: terminal.SHOWN]))
        else:
            self.status = Text.assemble(_head(self.report, done.seconds), (f" · {_saved(done)}", "dim"))

    def __rich__(self) -> Group:
        title = Text.assemble((f"labs watch {self.lab.id}", "bold"), f"  {self.lab.title}", ("  Ctrl-C ends", "dim"))
        return Group(title, self.status, Text(), self._table(), Text(), *self._first_failure())

    def _table(self) -> Table:
        table = Table.grid(padding=(0, 1))
        table.add_column(no_wrap=True)
        table.add_column(no_wrap=True, style="dim")
        table.add_column(no_wrap=True, overflow="ellipsis", ratio=1)
        table.add_column(no_wrap=True, justify="right", style="dim")
        for row in sorted(self.rows.values(), key=lambda row: ORDER.index(row.outcome)):
            mark, colour = terminal.MARKS.get(row.outcome, RUNNING)
            seconds = "" if row.seconds is None else f"{row.seconds:.2f} s"
            table.add_row(Text(f"  {mark}", colour), row.contract, Text(clip(row.sentence, 300)), seconds)
        return table

    def _first_failure(self) -> list[RenderableType]:
        found = outline.failures(self.report) if self.report else []
        return [terminal.in_full(found[0], outline.sides(self.report))] if found else []


def _row(test: TestResult) -> _Row:
    contract = ", ".join(map(str, test.contract)) or ("given" if test.guard else "")
    return _Row(_sentence(test.id, test.sentence), test.outcome, contract, test.seconds)


def _sentence(test_id: str, sentence: str) -> str:
    _, bracket, label = test_id.partition("[")
    return f"{sentence} {bracket}{label}".rstrip()


def _head(report: Report, seconds: float) -> Text:
    verdict = Verdict(report.verdict)
    return Text.assemble(
        (f"{terminal.SIGNS[verdict]} {verdict}", f"bold {terminal.COLOURS[verdict]}"),
        f"  {outline.headline(report)} · {seconds:.2f} s",
    )
