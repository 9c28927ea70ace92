"""Fixtures that several rooms share; `synthetic.py` stands beside this file, which puts it on the path."""

import subprocess

import pytest
from synthetic import write_course

from grading.course.catalog import Course

IDENTITY = {"AUTHOR": "ada", "COMMITTER": "ada"}


@pytest.fixture
def tiny(tmp_path) -> Course:
    """The synthetic course, on disk under tmp_path/course."""
    return Course.load(write_course(tmp_path / "course"))


@pytest.fixture
def git(monkeypatch):
    """git(folder, *arguments) -> stdout, with ada's identity and nobody's configuration."""
    for role, name in IDENTITY.items():
        monkeypatch.setenv(f"GIT_{role}_NAME", name)
        monkeypatch.setenv(f"GIT_{role}_EMAIL", f"{name}@example.org")
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", "/dev/null")

    def run(folder, *arguments: str, check: bool = True) -> str:
        done = subprocess.run(["git", *arguments], cwd=folder, capture_output=True, text=True)
        if check:
            assert done.returncode == 0, done.stderr
        return done.stdout if check else f"{done.returncode} {done.stdout}{done.stderr}"

    return run
