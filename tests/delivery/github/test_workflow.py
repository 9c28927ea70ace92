"""Nobody else's text steers the runner: step outputs, the log, the summary."""

import pytest

from grading.delivery.github import workflow


@pytest.mark.parametrize("value", ["7\ngraded=true", "a\rb", "x" * 201, "$(id)", "a\u2028b"])
def test_an_output_is_plain_or_refused(tmp_path, monkeypatch, value):
    monkeypatch.setenv("GITHUB_OUTPUT", str(tmp_path / "output"))
    with pytest.raises(ValueError, match="output pr is not plain"):
        workflow.output("pr", value)
    assert not (tmp_path / "output").exists()


def test_a_plain_output_is_a_line(tmp_path, monkeypatch):
    monkeypatch.setenv("GITHUB_OUTPUT", str(tmp_path / "output"))
    workflow.output("graded", "true")
    assert (tmp_path / "output").read_text() == "graded=true\n"


def test_a_notice_is_one_line(capsys):
    workflow.notice("done\n::error::forged\r%0A::error::again")
    (line,) = capsys.readouterr().out.splitlines()
    assert line.startswith("::notice::done ")
    assert "%250A" in line


def test_no_command_between_the_tokens_is_obeyed(capsys):
    with workflow.quoting():
        print("::error::forged")
    first, *_, last = capsys.readouterr().out.splitlines()
    token = first.removeprefix("::stop-commands::")
    assert last == f"::{token}::"
    assert len(token) == 32


def test_a_summary_is_capped(tmp_path, monkeypatch):
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", str(tmp_path / "summary"))
    workflow.summary("é" * 1_000_000)
    assert (tmp_path / "summary").stat().st_size <= 2**20
