"""Attacks C01-C05 on the escape itself: what a reader's Markdown renderer makes of each string."""

import pytest
from markdown_it import MarkdownIt

from grading.feedback.escape import clip, code, fence, inline, visible

HOSTILE = [
    "@org/team @user and ada@example.org",
    "``` and ```` and " + "`" * 60 + " ~~~",
    "</details><h1>PASS</h1><img src=//evil onerror=x> <!-- --> <details>",
    "![](http://tracker/x.png) [click](javascript:alert(1)) https://evil.example www.evil.example file:///etc",
    "# heading\n\n- item\n\n1. one\n\n> quote\n\n---\n\n| a |\n|---|\n",
    "*bold* _it_ ~~gone~~ $x$ \\* &lt;b&gt; &#64;user",
    "[ref]: http://evil.example\n\n[ref]",
    "fixes #12 and GH-12 and org/repo#9",
    "`", "", " ", "\n\n", "a`", "<", "\\", "![", "    indented",
]  # fmt: skip


def tokens(markdown: str) -> list[str]:
    parser = MarkdownIt("commonmark", {"html": True}).enable(["table", "strikethrough"])
    found = parser.parse(markdown)
    return [token.type for block in found for token in [block, *(block.children or [])]]


@pytest.mark.parametrize("text", HOSTILE)
@pytest.mark.parametrize("form", [inline, code])
def test_a_line_stays_text(form, text):
    kinds = set(tokens(form(text)))
    assert kinds <= {"paragraph_open", "paragraph_close", "inline", "text", "text_special", "code_inline"}


@pytest.mark.parametrize("text", HOSTILE)
def test_a_fence_holds_everything(text):
    assert tokens(f"{fence(text)}\n\nafter") == ["fence", "paragraph_open", "inline", "text", "paragraph_close"]


@pytest.mark.parametrize("text", HOSTILE)
def test_rendered_text_is_the_string_itself(text):
    shown = MarkdownIt("commonmark").parseInline(inline(text))[0].children
    plain = "".join(token.content for token in shown).replace("\u200b", "")
    assert plain == " ".join(text.split())


@pytest.mark.parametrize("form", [inline, code, fence])
def test_no_mention_and_no_address(form):
    assert form("@org/team @user ada@example.org").count("@\u200b") == 3


def test_the_head_of_a_hunk_stays_what_it_is():
    assert fence("@@ -3,7 +3,10 @@ def f():", language="diff") == "```diff\n@@ -3,7 +3,10 @@ def f():\n```"
    assert fence("@@user") == "```text\n@@\u200buser\n```"


def test_no_autolink_and_no_issue_reference():
    line = inline("https://evil.example www.evil.example mailto:x #12 GH-12")
    assert not any(link in line.replace("\\", "") for link in ("://", "www.", "mailto:", "#1", "GH-1"))


def test_matrix_products_keep_their_operator():
    assert fence("y = x @ w") == "```text\ny = x @ w\n```"


def test_control_characters_are_shown():
    text = "\x1b[2J\x1b]8;;http://x\x07 a\rb \x9b31m \u202e \u2028 \ud800 \U000e0041\tend\n"
    assert visible(text) == (
        "\\x1b[2J\\x1b]8;;http://x\\x07 a\\x0db \\x9b31m \\u202e \\u2028 \\ud800 \\U000e0041\tend\n"
    )


def test_line_ends_of_windows_are_line_ends():
    assert visible("a\r\nb") == "a\nb"


def test_a_cut_is_said():
    assert clip("abcdef", 3) == "abc … (cut)"
    assert clip("abc", 3) == "abc"
    assert len(clip("\x1b" * 10_000, 100)) < 120
