"""The parser process: what it dies of is refused, what it was not asked is asked again, and its own fault is ours."""

import pytest

from grading.course import vetting
from grading.course.vetting import vet


def test_a_killed_parser_costs_one_file(monkeypatch):
    deadly = vetting.PARSER.replace("def judge(text):", "import os\ndef judge(text):\n    'x' in text or os.abort()")
    monkeypatch.setattr(vetting, "PARSER", deadly)
    refusals = vet({"a.py": b"x = 1", "b.py": b"y = 1", "c.py": b"y = 2", "d.py": b"x = 2"})
    assert [one.path for one in refusals] == ["b.py", "c.py"]
    assert refusals[0].reason.startswith("cannot be parsed: ")


def test_a_slow_parser_is_stopped(monkeypatch):
    slow = vetting.PARSER.replace(
        "def judge(text):", "import time\ndef judge(text):\n    'x' in text or time.sleep(60)"
    )
    monkeypatch.setattr(vetting, "PARSER", slow)
    monkeypatch.setattr(vetting, "PARSE_S", 0.5)
    assert [one.path for one in vet({"a.py": b"y = 1"})] == ["a.py"]


def test_a_parser_that_does_not_start_is_no_refusal(monkeypatch):
    monkeypatch.setattr(vetting, "PARSER", "raise SystemExit(1)")
    with pytest.raises(OSError, match="did not start"):
        vet({"a.py": b"x = 1"})


def test_depth_that_is_still_fine():
    assert vet({"a.py": b"x = a" + b".b" * 150 + b"\n", "b.py": b"x = " + b"(" * 150 + b")" * 150}) == []
