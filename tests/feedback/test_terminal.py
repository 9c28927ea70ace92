import re

import pytest
from feedback_examples import REPORTS, advice_for, all_passed, report
from rich.cells import cell_len
from test_comment import hostile_report

from grading.feedback.terminal import prose, render_text


@pytest.mark.parametrize("name", REPORTS)
def test_golden(name, snapshot):
    one = REPORTS[name]()
    assert render_text(one, advice_for(one)) == snapshot


@pytest.mark.parametrize("width", [80, 92, 100])
@pytest.mark.parametrize("name", REPORTS)
def test_no_line_is_wider_than_the_terminal(name, width):
    one = REPORTS[name]()
    assert max(cell_len(line) for line in render_text(one, advice_for(one), width=width).splitlines()) <= width


def test_plain_by_default_and_colour_when_asked(monkeypatch):
    monkeypatch.setenv("FORCE_COLOR", "1")
    one = REPORTS["FAIL"]()
    assert "\x1b" not in render_text(one, advice_for(one))
    monkeypatch.setenv("NO_COLOR", "1")
    coloured = render_text(one, advice_for(one), color=True)
    assert "\x1b[1;31m✗ FAIL" in coloured
    assert not re.search(r"\x1b(?!\[[\d;]*m)", coloured)


@pytest.mark.parametrize("color", [True, False])
def test_a_learners_string_moves_nothing(color):
    one = hostile_report(3)
    text = render_text(one, advice_for(one), color=color)
    assert not re.search(r"[\x00-\x08\x0b-\x1a\x1c-\x1f\x7f-\x9f]|\x1b(?!\[[\d;]*m)", text)
    assert "\\x1b[2J\\x0d\\x07" in text


def test_markup_is_text():
    tests = all_passed()
    tests[0] = tests[0].model_copy(update={"outcome": "failed", "kind": "value", "message": "[red]x[/red] [link=a]b"})
    one = report("FAIL", tests)
    assert "[red]x[/red] [link=a]b" in render_text(one, advice_for(one), color=True)


def test_public_tests_earn_nothing_and_lead_to_submit():
    tests = [test.model_copy(update={"id": f"test_public.py::t{n}"}) for n, test in enumerate(all_passed())]
    one = report("PASS", tests, counts=False, jail="none")
    text = render_text(one, advice_for(one))
    assert "11 of 11 public tests passed" in text
    assert "labs submit" in text
    assert "seals" not in text
    assert "Does not count" not in text


def test_prose_joins_hard_wrapped_lines_and_keeps_lists():
    text = prose("One sentence\nover two lines.\n\n- a\n- b\n\n    code = 1\n")
    assert text.plain == "One sentence over two lines.\n\n- a\n- b\n\n    code = 1"
