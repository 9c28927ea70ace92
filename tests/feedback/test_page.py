"""The page of `labs progress --html`, read back as HTML."""

from html.parser import HTMLParser

import pytest

from grading.feedback.page import render
from grading.feedback.progress import Standing, Try
from grading.judge.report import Verdict

TRIES = {
    "l05": [Try("2026-11-01T10:00:00Z", Verdict.FAIL), Try("2026-11-01T10:30:00Z", Verdict.PASS)],
    "l11": [Try("2026-11-02T10:00:00Z", Verdict.TIMEOUT)],
}
STANDINGS = {"l05": Standing(lab="l05", seals=["patch"], attempts=2), "l11": Standing(lab="l11", attempts=1)}


class Page(HTMLParser):
    """Class attributes by tag, ids of labs by state, and the text."""

    def __init__(self, html):
        super().__init__()
        self.classes, self.labs, self.words = [], {}, []
        self.feed(html)

    def handle_starttag(self, tag, attrs):
        given = dict(attrs)
        self.classes.append((tag, given.get("class")))
        if (given.get("class") or "").startswith("lab "):
            self.labs[given["id"]] = given["class"].split()[1]

    def handle_data(self, data):
        self.words += data.split()

    @property
    def text(self):
        return " ".join(self.words)


@pytest.fixture
def page(course):
    return Page(render(course, STANDINGS, TRIES, {"l05"}))


def test_each_lab_is_a_card_with_its_state(page, course):
    assert page.labs == {lab.id: {"l05": "done", "l11": "open"}.get(lab.id, "locked") for lab in course.labs}


def test_the_figures_and_the_published_labs_are_told(page, course):
    assert f"1 of {len(course.labs)} labs have the Patch seal" in page.text
    assert "after 3 attempts in all" in page.text
    assert page.text.count("not published") == len(course.labs) - 1


def test_every_attempt_is_a_square_and_a_dot(page):
    assert [kind for tag, kind in page.classes if tag == "circle"] == ["FAIL", "PASS", "TIMEOUT"]
    assert [kind for tag, kind in page.classes if tag == "span" and "try" in kind] == [
        "try FAIL",
        "try PASS",
        "try TIMEOUT",
    ]


def test_nothing_is_fetched_and_every_text_is_escaped(course):
    html = render(course.__class__(**{**vars(course), "title": "<script>a</script> & b"}), {}, {}, set())
    assert "<script" not in html
    assert "&lt;script&gt;a&lt;/script&gt; &amp; b" in html
    assert not any(fetches in html for fetches in ("http", "src=", "@import"))
