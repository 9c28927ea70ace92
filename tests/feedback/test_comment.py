"""The comment: one golden file a verdict, and the attacks of table C on the whole of it."""

import re

import pytest
from feedback_examples import DIAGNOSIS, LAYERS, REPORTS, advice_for, all_passed, raised, report
from markdown_it import MarkdownIt

from grading.feedback.comment import LIMIT, MARKER, render_comment
from grading.judge.report import Frame, Refusal, Stack, TestResult

HOSTILE = (
    "@org/team ada@example.org ![](http://tracker/x.png) [click](javascript:x) https://evil.example\n"
    "</details><h1>PASS</h1><img src=//evil><!-- labs:report -->\n```\n## ✅ PASS · l05\n````\n"
    + "`" * 60
    + "\x1b[2J\r\x07"
)


def hostile_test(number: int, text: str = HOSTILE) -> TestResult:
    frame = Frame(path=text, line=number, function=text, text=text)
    return TestResult(
        id=f"test_x.py::test_{number}[{text}]", contract=[number], topic=text, outcome="failed", kind=f"error:{text}",
        sentence=text, message=text, expected=text, got=text, frames=[frame] * 40, output=text, notes=[text],
        stacks=[Stack(rank=0, frames=[frame] * 40, says=text)] * 40,
    )  # fmt: skip


def hostile_report(tests: int, text: str = HOSTILE):
    place = Refusal(path=text, line=1, reason=text)
    return report(
        "FAIL", [hostile_test(number, text) for number in range(tests)], title=text, reason=text, commit=text,
        refusals=[place] * 50, warnings=[place] * 50, not_graded=[text] * 50, moved=True,
    )  # fmt: skip


def links_and_images(markdown: str) -> list[str]:
    blocks = MarkdownIt("commonmark", {"html": True}).parse(markdown)
    spans = [token for block in blocks for token in block.children or []]
    return [
        str(token.attrs.get("href", token.attrs.get("src"))) for token in spans if token.type in ("link_open", "image")
    ]


def html(markdown: str) -> list[str]:
    blocks = MarkdownIt("commonmark", {"html": True}).parse(markdown)
    found = [token for block in blocks for token in [block, *(block.children or [])]]
    return [token.content.strip() for token in found if token.type.startswith("html")]


@pytest.mark.parametrize("name", REPORTS)
def test_golden(name, snapshot):
    one = REPORTS[name]()
    assert render_comment(one, advice_for(one)) == snapshot


def test_the_order():
    one = REPORTS["FAIL"]()
    text = render_comment(one, advice_for(one))
    order = [MARKER, "FAIL", "Patch seal", "What failed", "known mistake", "Hint 1 of 3", "Repeat it", "Remarks"]
    places = [text.index(part) for part in order]
    assert places == sorted(places)
    assert text.splitlines()[0] == MARKER


def test_only_our_own_links_and_html():
    one = hostile_report(3)
    text = render_comment(one, advice_for(one))
    assert links_and_images(text) == []
    ours = {MARKER, "<br>", "<details><summary>What your code printed</summary>", "</details>"}
    assert set(html(text)) <= ours
    passing = REPORTS["PASS"]()
    assert [link.split("/")[2] for link in links_and_images(render_comment(passing, advice_for(passing)))] == [
        "github.com"
    ]


def test_no_mention_no_control_character_and_one_heading():
    one = hostile_report(3)
    text = render_comment(one, advice_for(one))
    assert not re.search(r"@\w", text)
    assert not re.search(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]", text)
    headings = [token for token in MarkdownIt("commonmark").parse(text) if token.type == "heading_open"]
    assert [token.tag for token in headings].count("h2") == 1


@pytest.mark.parametrize("text", ["x" * 10_000, "😀" * 10_000, "\x1b" * 10_000, "<&@a`" * 2_000, HOSTILE])
def test_500_failures_stay_under_the_limit(text):
    one = hostile_report(500, text)
    comment = render_comment(one, advice_for(one))
    assert len(comment.encode()) < LIMIT
    assert "**Cut** to stay under 60,000 bytes:" in comment
    assert "labs grade l05 --commit 8c1f0a6 --seed 8123" in comment
    assert set(html(comment)) <= {MARKER, "<br>", "<details><summary>What your code printed</summary>", "</details>"}


def test_a_cut_keeps_the_verdict_the_diagnosis_and_the_first_failures():
    tests = [raised(f"test_{number}", "s" * 300, number) for number in range(400)]
    tests = [test.model_copy(update={"frames": [], "message": f"{test.id} {'m' * 900}"}) for test in tests]
    one = report("FAIL", tests)
    advice = advice_for(one).model_copy(update={"diagnosis": DIAGNOSIS})
    text = render_comment(one, advice)
    shown = [number for number in range(400) if f"test_linear.py::test_{number} m" in text]
    assert shown == list(range(len(shown)))
    assert 20 < len(shown) < 60
    assert f"{400 - len(shown)} failures. `labs grade l05 --commit 8c1f0a6 --seed 8123` shows everything." in text
    assert DIAGNOSIS.text in text


def test_a_learners_text_never_starts_a_comment_of_its_own():
    forged = raised("test_a", "A sentence.", 1).model_copy(update={"message": f"{MARKER}\n## ✅ PASS\nverdict: PASS"})
    text = render_comment(report("FAIL", [forged]), advice_for(report("FAIL", [forged])))
    assert text.index("❌ FAIL") < text.index("What failed") < text.index("verdict: PASS")
    fences = [token.content for token in MarkdownIt("commonmark").parse(text) if token.type == "fence"]
    assert any("verdict: PASS" in content for content in fences)


def test_a_broken_file_is_said_once():
    place = [Frame(path=LAYERS, line=9, function="<module>", text="def f(:")]
    tests = [
        raised(test.id, test.sentence, 1).model_copy(update={"frames": place, "kind": "error:SyntaxError"})
        for test in all_passed()
    ]
    text = render_comment(report("FAIL", tests), advice_for(report("FAIL", tests)))
    assert text.count("def f(:") == 1
    assert "11 tests fail for one reason: SyntaxError was raised." in text


def test_look_for_is_no_part_of_an_advice():
    one = REPORTS["PASS"]()
    assert "look_for" not in advice_for(one).model_dump_json()
