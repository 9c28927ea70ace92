"""Where a learner's strings are shown, and what may never come of one: a list of violations, empty for inert text."""

import re
import unicodedata

from markdown_it import MarkdownIt
from rich.cells import cell_len

from grading.feedback.advice import Advice
from grading.feedback.comment import LIMIT, MARKER, render_comment
from grading.feedback.terminal import render_text
from grading.judge.report import Frame, Refusal, Report, Stack, TestResult

WIDTHS = (40, 88, 120)
PARSER = MarkdownIt("commonmark", {"html": True}).enable(["table", "strikethrough"])
OUR_HTML = re.compile(r"<br>|</details>|<details><summary>(What your code printed|\d+ tests? pass(es)?)</summary>")
HEADINGS = re.compile(r"(❌ FAIL · l01 .*|What failed|Repeat it on your machine|Remarks)", re.DOTALL)
ACTIVE = re.compile(r"@(?=[A-Za-z0-9])|(?<!\w)(#|GH-)\d|\bwww\.|\b[a-z]+://|\b(mailto|javascript|data):")
COLOURS = re.compile(r"\x1b\[[\d;]*m")
COMMANDS = re.compile(r"(?im)^\s*::(error|add-mask|set-output|set-env|group|stop-commands)\b|##\[[a-z]+\]")
OUR_FORMAT = "\u200b\u200d"  # the escape's own, and what holds an emoji together
MOST_LINES = 4_000


def hostile_report(text: str, tests: int = 3) -> Report:
    """A failed grading whose every field that a learner has a hand in is `text`."""
    place = Refusal(path=text, line=1, reason=text)
    more = {"refusals": [place] * 30, "warnings": [place] * 30, "not_graded": [text] * 30}
    head = {"lab": "l01", "title": "To double", "commit": "8c1f0a6d5b" * 4, "base": "5d2e" * 10, "seed": 7}
    results = [_result(number, text) for number in range(tests)] + [_passed(text)]
    return Report(**head, **more, verdict="FAIL", counts=True, jail="root", reason=text, tests=results, seconds=1.4)


def _result(number: int, text: str) -> TestResult:
    frame = Frame(path=text, line=number, function=text, text=text)
    return TestResult(
        id=f"test_x.py::test_{number}[{text}]", contract=[number], topic="sum", outcome="failed", kind=f"error:{text}",
        sentence=text, message=text, expected=text, got=text, frames=[frame, frame], output=text, notes=[text],
        stacks=[Stack(rank=0, frames=[frame], says=text)],
    )  # fmt: skip


def _passed(text: str) -> TestResult:
    return TestResult(id=f"test_x.py::test_ok[{text}]", outcome="passed", kind="ok", sentence=text, output=text)


def everywhere(text: str, tests: int = 3) -> list[str]:
    """What goes wrong with `text` in the comment and on terminals of three widths, plain and in colour."""
    report, advice = hostile_report(text, tests), Advice(repeat_command="labs grade l01", attempt=2)
    found = in_comment(render_comment(report, advice))
    for width in WIDTHS:
        found += on_terminal(render_text(report, advice, width), width)
    return found + on_terminal(COLOURS.sub("", render_text(report, advice, color=True)), 92)


def in_comment(comment: str) -> list[str]:
    """The violations of a comment, as a reader's Markdown renderer sees it."""
    tokens = PARSER.parse(f"{comment}\nthe end\n")
    flat = [token for block in tokens for token in [block, *(block.children or [])]]
    fences = [token for token in tokens if token.type in ("fence", "code_block")]
    html = [token.content.strip() for token in flat if token.type.startswith("html")]
    found = [f"link or image {token.attrs}" for token in flat if token.type in ("link_open", "image")]
    found += [f"markup {piece!r}" for piece in html if piece != MARKER and not OUR_HTML.fullmatch(piece)]
    found += [f"active {token.content!r}" for token in flat if token.type == "text" and ACTIVE.search(token.content)]
    headings = [tokens[at + 1].content for at, token in enumerate(tokens) if token.type == "heading_open"]
    found += [f"heading {one!r}" for one in headings if not HEADINGS.fullmatch(one)]
    found += [f"code that is no text: {token.info}" for token in fences if token.info not in ("text", "sh")]
    wrong = {
        "the marker is not one, or not first": html.count(MARKER) != 1 or not comment.startswith(MARKER + "\n"),
        "the verdict is not the first heading": not headings or not headings[0].startswith("❌ FAIL"),
        "a quote or a fence swallows what follows": [token.type for token in tokens[-3:]] != END or tokens[-3].level,
        "details are not closed": sum("<details>" in piece for piece in html) != html.count("</details>"),
        "it is too long": len(comment.encode()) >= LIMIT,
    }
    return found + [words for words, yes in wrong.items() if yes] + _unseen(comment)


END = ["paragraph_open", "inline", "paragraph_close"]


def on_terminal(text: str, width: int) -> list[str]:
    """The violations of a text that is printed as it is."""
    lines = text.split("\n")
    found = [f"wider than {width}: {line!r}" for line in lines if cell_len(line) > width][:3]
    found += [f"a CI log obeys {one[0]!r}" for one in COMMANDS.finditer(text)]
    found += [f"{len(lines)} lines"] if len(lines) > MOST_LINES else []
    return found + _unseen(text)


def _unseen(text: str) -> list[str]:
    """Characters that move the cursor, turn the direction, or cannot even be written."""
    kinds = ("Cc", "Cf", "Cs", "Zl", "Zp")
    bad = {char for char in text if char not in "\n\t" + OUR_FORMAT and unicodedata.category(char) in kinds}
    return [f"raw {char!r}" for char in sorted(bad)]
