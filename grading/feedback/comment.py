"""The review comment: Report and Advice in, GitHub Markdown out.

The learner's strings pass `escape`; the author's (sentences aside: they travel in the Report) are Markdown already.
"""

from dataclasses import dataclass

from grading.feedback import outline
from grading.feedback.advice import Advice
from grading.feedback.escape import clip, code, fence, inline
from grading.feedback.outline import Failure
from grading.judge.report import Frame, Refusal, Report, TestResult, Verdict

MARKER = "<!-- labs:report -->"
LIMIT = 60_000  # in UTF-8 bytes, so in characters as well; GitHub takes 65,536 characters
RESERVE = 600  # for the sentence that says what was cut
SHOWN = 20  # rows of a list that a learner can make as long as he likes
SIGNS = {"PASS": "✅", "FAIL": "❌", "TIMEOUT": "⏱️", "TAMPER": "🚨", "REFUSED": "⛔", "INFRA": "🔧"}


@dataclass(frozen=True)
class Section:
    """A piece that is shown whole or not at all. The lowest rank is kept longest; `name` says what was cut."""

    text: str
    rank: int
    name: str = ""


def render_comment(report: Report, advice: Advice) -> str:
    """The sticky comment, under LIMIT bytes. Its first line is the marker that GitHub's bot looks for."""
    failures, unseen = _failed(report)
    sections = [
        Section(_head(report, advice), 0),
        Section(_places(report.refusals), 1, "the refused places"),
        *failures,
        *_advice(advice),
        Section(_repeat(advice), 1, "the command that repeats it"),
        Section(_mainline(advice), 3, "the Mainline seal"),
        *_exam(report, advice),
        Section(_remarks(report), 2, "the remarks"),
        Section(_passed(report), 9, "the passed tests"),
    ]
    return _fit([section for section in sections if section.text], advice.repeat_command, unseen)


def _fit(sections: list[Section], command: str, unseen: int) -> str:
    """The sections in order, without those (highest rank first, last first) that would pass the limit."""
    room = LIMIT - RESERVE
    kept = []
    for section in sorted(sections, key=lambda section: section.rank):
        size = len(section.text.encode()) + 2
        if size <= room:
            kept.append(section)
            room -= size
    cut = [section.name for section in sections if section not in kept] + ["failure"] * unseen
    parts = [section.text for section in sections if section in kept]
    return "\n\n".join(parts + ([_cut(cut, command)] if cut else [])) + "\n"


def _cut(names: list[str], command: str) -> str:
    failed = names.count("failure")
    rest = [name for name in dict.fromkeys(names) if name != "failure"]
    what = ", ".join([*([outline.count(failed, "failure")] if failed else []), *rest])
    return f"**Cut** to stay under {LIMIT:,} bytes: {what}. {code(command)} shows everything."


def _head(report: Report, advice: Advice) -> str:
    facts = [f"**{outline.headline(report)}**", f"{report.seconds:.1f} s", f"seed {report.seed}"]
    facts += [f"commit {code(report.commit[:10])}"] if report.commit else []
    facts += [f"attempt {advice.attempt}"] if advice.attempt else []
    seal = outline.SEALS[report.seal]
    lines = [
        MARKER,
        f"## {SIGNS[report.verdict]} {report.verdict} · {inline(report.lab)} {inline(report.title)}{seal}",
        " · ".join(facts),
        _seals(advice),
        inline(outline.meaning(report), 1000),
        f"**{outline.standing(report)}**" if outline.standing(report) else "",
    ]
    return "\n\n".join(line for line in lines if line)


def _seals(advice: Advice) -> str:
    return " · ".join(f"{'🟢' if earned else '⚪'} {name.title()} seal" for name, earned in advice.seals.items())


def with_seal(comment: str, name: str) -> str:
    """A rendered comment with one more seal earned."""
    return comment.replace(f"⚪ {name.title()} seal", f"🟢 {name.title()} seal", 1)


def _places(refusals: list[Refusal]) -> str:
    rows = [f"- {code(_place(one.path, one.line))}: {inline(one.reason, 600)}" for one in refusals[:SHOWN]]
    return "\n".join(rows + _more(len(refusals)))


def _more(total: int) -> list[str]:
    return [f"- … and {total - SHOWN} more"] if total > SHOWN else []


def _place(path: str, line: int | None) -> str:
    return path if line is None else f"{path}:{line}"


def _failed(report: Report) -> tuple[list[Section], int]:
    """The failures' sections, and how many were not even written because the comment is full by then."""
    found = outline.failures(report)
    pieces: list[Section] = []
    room = LIMIT
    for failure in found:
        if room < 0:
            break
        pieces.append(Section(_failure(failure, outline.sides(report)), 4, "failure"))
        room -= len(pieces[-1].text.encode())
    return ([Section("### What failed", 0), *pieces] if found else []), len(found) - len(pieces)


def _failure(failure: Failure, sides: tuple[str, str]) -> str:
    contract = f"{failure.contract} · " if failure.contract and not failure.holes else ""
    title = f"**{contract}{inline(failure.title)}**"
    if failure.holes:
        return "\n".join(
            [title, "", *(f"- {code(hole)}" for hole in failure.holes[:SHOWN]), *_more(len(failure.holes))]
        )
    parts = [f"{title}<br>\n{code(outline.ids(failure.tests), 300)}", _sentences(failure)]
    parts.append(_evidence(failure.first, sides))
    return "\n\n".join(part for part in [*parts, _printed(failure.first)] if part)


def _sentences(failure: Failure) -> str:
    """What the tests with one cause would have checked, when they are different things."""
    if len(failure.sentences) == 1:
        return ""
    rows = [f"- {inline(sentence)}" for sentence in failure.sentences[:SHOWN]]
    return "\n".join(rows + _more(len(failure.sentences)))


def _evidence(test: TestResult, sides: tuple[str, str]) -> str:
    lines = [clip(outline.why(test), 1500)]
    lines += [
        line for side, text in zip(sides, (test.expected, test.got), strict=True) for line in _aligned(side, text)
    ]
    lines += [line for frame in test.frames[-8:] for line in _frame(frame)]
    for stack in test.stacks[:8]:
        lines += ["", clip(stack.says, 300)]
        lines += [f"  {line}" for frame in stack.frames[-8:] for line in _frame(frame)]
    return fence("\n".join(lines), 12_000)


def _aligned(label: str, text: str) -> list[str]:
    """ "expected  tensor(…)", further lines under the first."""
    rows = clip(text, 800).splitlines()
    return [f"{label if number == 0 else '':<10}{row}" for number, row in enumerate(rows)]


def _frame(frame: Frame) -> list[str]:
    place = f"{clip(frame.path, 200)}:{frame.line} in {clip(frame.function, 100)}"
    return [place, f"    {clip(frame.text.strip(), 200)}"] if frame.text.strip() else [place]


def _printed(test: TestResult) -> str:
    if not test.output.strip():
        return ""
    return f"<details><summary>What your code printed</summary>\n\n{fence(test.output, 2000)}\n\n</details>"


def _advice(advice: Advice) -> list[Section]:
    found = []
    if advice.diagnosis:
        found.append(Section(f"### This looks like a known mistake\n\n{advice.diagnosis.text}", 3, "the diagnosis"))
    if advice.hint:
        hint = advice.hint
        found.append(Section(f"### Hint {hint.level} of {hint.of} ({hint.topic})\n\n{hint.text}", 3, "the hint"))
    return found


def _repeat(advice: Advice) -> str:
    return f"### Repeat it on your machine\n\n```sh\n{advice.repeat_command}\n```"


def _mainline(advice: Advice) -> str:
    if not advice.mainline_command:
        return ""
    says = "Does your patch do what the pinned upstream release does? On your machine, after `labs snapshots fetch`:"
    return f"### The Mainline seal\n\n{says}\n\n```sh\n{advice.mainline_command}\n```"


def _exam(report: Report, advice: Advice) -> list[Section]:
    if report.verdict is not Verdict.PASS or not advice.exam:
        return []
    rows = [f"- [ ] **{one.layer}**: {one.question}{_source(one.where, one.link)}" for one in advice.exam]
    intro = f"Five questions, drawn by this commit. Answer them here, or run {code(f'labs exam {report.lab}')}."
    return [Section("\n".join(["### Oral exam", "", intro, "", *rows]), 3, "the oral exam")]


def _source(where: str, link: str) -> str:
    if not where:
        return ""
    return f"<br>[{inline(where)}]({link})" if link else f"<br>{inline(where)}"


def _remarks(report: Report) -> str:
    lines = [f"- **{outline.moved(report)}**"] if report.moved else []
    if report.not_graded:
        paths = ", ".join(code(path, 120) for path in report.not_graded[:SHOWN])
        more = f" and {len(report.not_graded) - SHOWN} more" if len(report.not_graded) > SHOWN else ""
        lines.append(f"- Not graded (only the lab's editable files are): {paths}{more}")
    if report.warnings:
        lines.append(_places(report.warnings))
    return "\n".join(["### Remarks", "", *lines]) if lines else ""


def _passed(report: Report) -> str:
    passed = [test for test in report.tests if test.outcome == "passed"]
    if not passed:
        return ""
    rows = "\n".join(f"- {row}" for row in dict.fromkeys(_half_passed(report, test) for test in passed))
    summary = f"{outline.count(len(passed), 'test')} {'passes' if len(passed) == 1 else 'pass'}"
    return f"<details><summary>{summary}</summary>\n\n{rows}\n\n</details>"


def _half_passed(report: Report, test: TestResult) -> str:
    """The test's sentence, with the parameters that pass where it fails for others."""
    base = outline.base_id(test.id)
    same = [one for one in report.tests if outline.base_id(one.id) == base]
    labels = [one.id.removeprefix(base) for one in same if one.outcome == "passed"]
    sentence = inline(test.sentence or base)
    return sentence if len(labels) == len(same) else f"{sentence} {code(', '.join(labels))} only"
