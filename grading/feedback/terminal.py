"""The same report for a terminal: what failed, why, what it looks like, what to type next.

Texts are Rich `Text` objects, never markup, and the learner's strings pass `visible`: nothing moves the cursor.
"""

import io
import re
import textwrap

from rich.console import Console, Group, RenderableType
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from grading.feedback import outline
from grading.feedback.advice import Advice
from grading.feedback.escape import clip, visible
from grading.feedback.outline import Failure
from grading.judge.report import Frame, Refusal, Report, TestResult, Verdict

SIGNS = {"PASS": "✓", "FAIL": "✗", "TIMEOUT": "◷", "TAMPER": "✗", "REFUSED": "⊘", "INFRA": "✗"}
COLOURS = {"PASS": "green", "FAIL": "red", "TIMEOUT": "yellow", "TAMPER": "magenta", "REFUSED": "red", "INFRA": "blue"}
MARKS = {"passed": ("✓", "green"), "failed": ("✗", "red"), "timeout": ("◷", "yellow"), "not_run": ("·", "dim")}
FAILURES = 20
SHOWN = 8  # rows of one list; the comment and --json have them all


def render_text(report: Report, advice: Advice, width: int = 92, color: bool = False) -> str:
    """The terminal's rendering as a string, for `remote:` lines and logs; ANSI colours only if asked for."""
    console = Console(
        file=io.StringIO(),
        width=width,
        force_terminal=color,
        color_system="standard" if color else None,
        legacy_windows=False,
        _environ={},
    )
    console.print(render_terminal(report, advice))
    lines = console.file.getvalue().splitlines()
    return "\n".join(line.rstrip() for line in lines).strip("\n") + "\n"


def render_terminal(report: Report, advice: Advice) -> Group:
    """For `Console.print`, at its best on 80 to 100 columns."""
    blocks = [
        _head(report, advice),
        _row(report),
        *_failed(report),
        *_advice(report, advice),
        _remarks(report),
        _next(report, advice),
    ]
    shown = [block for block in blocks if block is not None]
    return Group(*(piece for block in shown for piece in (block, Text())))


def _head(report: Report, advice: Advice) -> RenderableType:
    style = f"bold {COLOURS[report.verdict]}"
    seal = outline.SEALS[report.seal]
    verdict = Text.assemble(
        (f"{SIGNS[report.verdict]} {report.verdict}", style),
        "  ",
        (clip(f"{report.lab} {report.title}", 120), "bold"),
        seal,
    )
    lines = [verdict, _indent(_facts(report, advice))]
    if advice.seals and not outline.public(report):
        lines.append(_indent(_seals(advice)))
    if outline.meaning(report):
        lines.append(_indent(Text(clip(outline.meaning(report), 1000))))
    lines += [_indent(_place(one)) for one in report.refusals[:SHOWN]] + _more(len(report.refusals))
    if outline.standing(report):
        lines.append(_indent(Text(outline.standing(report), "yellow")))
    return Group(*lines)


def _facts(report: Report, advice: Advice) -> Text:
    facts = [outline.headline(report), f"{report.seconds:.1f} s", f"seed {report.seed}"]
    facts += [f"commit {clip(report.commit[:7], 7)}"] if report.commit else []
    facts += [f"attempt {advice.attempt}"] if advice.attempt else []
    return Text(" · ".join(facts))


def _seals(advice: Advice) -> Text:
    marks = [
        (f"{'●' if earned else '○'} {name.title()}  ", "green" if earned else "dim")
        for name, earned in advice.seals.items()
    ]
    return Text.assemble("earned  ", *marks)


def _row(report: Report) -> RenderableType | None:
    """One mark a test, in the order of the report."""
    if not report.tests:
        return None
    return _indent(Text.assemble(*(MARKS[test.outcome] for test in report.tests), overflow="fold"))


def _failed(report: Report) -> list[RenderableType]:
    found = outline.failures(report)
    more = [Text(f"… and {len(found) - FAILURES} more failures", "dim")] if len(found) > FAILURES else []
    return [*(in_full(failure, outline.sides(report)) for failure in found[:FAILURES]), *more]


def in_full(failure: Failure, sides: tuple[str, str]) -> RenderableType:
    sign, colour = MARKS[failure.first.outcome]
    contract = f"{failure.contract}  " if failure.contract and not failure.holes else ""
    title = Text.assemble((contract, f"bold {colour}"), (clip(failure.title, 400), "bold"))
    if failure.holes:
        return _item(Text(sign, colour), title, _names(failure.holes))
    body = [Text(clip(outline.ids(failure.tests), 300), "dim")]
    body += [_names(failure.sentences)] if len(failure.sentences) > 1 else []
    return _item(Text(sign, colour), title, *body, *_evidence(failure.first, sides))


def _names(names: list[str]) -> RenderableType:
    return Group(*(Text(f"· {clip(name, 300)}") for name in names[:SHOWN]), *_more(len(names)))


def _more(total: int) -> list[RenderableType]:
    return [_indent(Text(f"… and {total - SHOWN} more", "dim"))] if total > SHOWN else []


def _evidence(test: TestResult, sides: tuple[str, str]) -> list[RenderableType]:
    found: list[RenderableType] = [Text(clip(outline.why(test), 1500))]
    if test.expected or test.got:
        found.append(_compared(test, *sides))
    found += [_frame(frame) for frame in test.frames[-SHOWN:]]
    for stack in test.stacks[:SHOWN]:
        found += [Text(clip(stack.says, 300), "yellow"), *(_indent(_frame(frame)) for frame in stack.frames[-4:])]
    if test.output.strip():
        found += [Text("your code printed", "dim"), _indent(Text(clip(test.output.strip("\n"), 800)))]
    return found


def _compared(test: TestResult, expected: str, got: str) -> Table:
    table = Table.grid(padding=(0, 2))
    table.add_column(no_wrap=True)
    table.add_column(overflow="fold")
    table.add_row(Text(expected, "green"), Text(clip(test.expected, 800)))
    table.add_row(Text(got, "red"), Text(clip(test.got, 800)))
    return table


def _frame(frame: Frame) -> Text:
    line = Text.assemble((clip(f"{frame.path}:{frame.line}", 200), "cyan"), (f" in {clip(frame.function, 100)}", "dim"))
    return line.append(f"\n    {clip(frame.text.strip(), 200)}") if frame.text.strip() else line


def _advice(report: Report, advice: Advice) -> list[RenderableType]:
    found: list[RenderableType] = []
    if advice.diagnosis:
        found.append(_block("This looks like a known mistake", "magenta", prose(advice.diagnosis.text)))
    if advice.hint:
        hint = advice.hint
        found.append(_block(f"Hint {hint.level} of {hint.of} ({hint.topic})", "blue", prose(hint.text)))
    if report.verdict is Verdict.PASS and advice.exam:
        asked = [
            _item(Text("·"), Text(one.layer, "bold"), prose(one.question), *_where(one.where)) for one in advice.exam
        ]
        found.append(_block("Oral exam: five questions, drawn by this commit", "green", Group(*asked)))
    return found


def _where(place: str) -> list[Text]:
    return [Text(place, "dim")] if place else []


def _remarks(report: Report) -> RenderableType | None:
    lines: list[RenderableType] = [Text(outline.moved(report), "yellow")] if report.moved else []
    if report.not_graded:
        paths = ", ".join(visible(path) for path in report.not_graded[:SHOWN])
        more = f" and {len(report.not_graded) - SHOWN} more" if len(report.not_graded) > SHOWN else ""
        lines.append(Text(f"not graded: {clip(paths, 600)}{more}", "dim"))
    lines += [_place(one) for one in report.warnings[:SHOWN]] + _more(len(report.warnings))
    return _indent(Group(*lines)) if lines else None


def _place(one: Refusal) -> Text:
    where = visible(one.path) if one.line is None else f"{visible(one.path)}:{one.line}"
    return Text.assemble((clip(where, 200), "cyan"), f": {clip(one.reason, 600)}")


def _next(report: Report, advice: Advice) -> RenderableType:
    steps = [(advice.repeat_command, "repeats it")]
    if report.failed and advice.topic and (advice.hint is None or advice.hint.level < advice.hint.of):
        steps.append(
            (f"labs hint {visible(advice.topic)}", "gives a hint" if advice.hint is None else "gives the next hint")
        )
    if report.verdict is Verdict.INFRA:
        steps.append(("labs doctor", "says what this machine lacks"))
    if report.verdict is Verdict.PASS:
        steps.append(
            ("labs submit", "has it graded")
            if outline.public(report)
            else (f"labs exam {visible(report.lab)}", "is the oral exam")
        )
    if advice.mainline_command:
        steps.append((advice.mainline_command, "holds it against upstream"))
    width = max(len(command) for command, _ in steps)
    return _indent(Group(*(_step(command.ljust(width), what) for command, what in steps)))


def _step(command: str, what: str) -> Text:
    """What is to be copied stays in one line, however narrow the terminal is."""
    return Text.assemble((f"$ {command}", "bold"), (f"  {what}", "dim"), no_wrap=True, overflow="ignore")


def _block(title: str, colour: str, body: RenderableType) -> RenderableType:
    return _indent(Group(Text(title, f"bold {colour}"), _indent(body)))


def _item(mark: Text, *lines: RenderableType) -> Table:
    """A mark in the margin, the lines beside it."""
    table = Table.grid(padding=(0, 1))
    table.add_row(mark, Group(*lines))
    return table


def _indent(body: RenderableType) -> Padding:
    return Padding(body, (0, 0, 0, 2), expand=False)


def prose(text: str) -> Text:
    """An author's text: hard-wrapped paragraphs joined, lists and indented lines kept, `code` in cyan."""
    paragraphs = [_joined(part) for part in re.split(r"\n\s*\n", textwrap.dedent(visible(text)).strip())]
    line = Text("\n\n".join(paragraphs))
    line.highlight_regex(r"`[^`\n]+`", "cyan")
    return line


def _joined(paragraph: str) -> str:
    kept = re.search(r"^(\s|[-*] |\d+\. )", paragraph, re.MULTILINE)
    return paragraph if kept else " ".join(paragraph.split())
