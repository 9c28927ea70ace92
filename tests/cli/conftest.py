"""`labs(…)`: the command in this process; `clone`: a learner's clone of the tiny course."""

import sys
from types import SimpleNamespace

import pytest

from grading.cli.main import main
from grading.sandbox import doctor


@pytest.fixture
def labs(monkeypatch, capsys):
    """labs("test", "l01", folder=…) -> exit code, stdout, stderr."""

    def run(*arguments: str, folder=None) -> SimpleNamespace:
        if folder:
            monkeypatch.chdir(folder)
        monkeypatch.setattr(sys, "argv", ["labs", *map(str, arguments)])
        with pytest.raises(SystemExit) as ended:
            main()
        out, err = capsys.readouterr()
        return SimpleNamespace(code=ended.value.code, out=out, err=err)

    return run


@pytest.fixture
def clone(tiny, tmp_path, git, monkeypatch):
    """A clone of the course's repository, on main, on a machine that lacks a jail."""
    lacking = [doctor.Check("cores", True, "2"), doctor.Check("jail", False, "no bwrap", "Install bubblewrap")]
    monkeypatch.setattr(doctor, "run_checks", lambda course: lacking)
    git(tiny.root, "init", "-q", "-b", "main")
    git(tiny.root, "add", "-A")
    git(tiny.root, "commit", "-q", "-m", "The course")
    git(tmp_path, "clone", "-q", tiny.root, "clone")
    return tmp_path / "clone"
