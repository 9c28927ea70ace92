"""What the tables of the corpus share, and the line at the end that sums them up."""

import fcntl
import tempfile

import pytest
from corpus import FOUND
from synthetic import write_course

from grading.course.catalog import Course
from grading.judge.carry import judge_for


@pytest.fixture(scope="session")
def judge(tmp_path_factory):
    """One warm judge for the tables whose code is harmless: only the way it comes is not."""
    course = Course.load(write_course(tmp_path_factory.mktemp("course")))
    with judge_for(course.lab("l01")) as shared:
        yield shared


@pytest.fixture(autouse=True)
def alone(tmp_path_factory):
    """The workers' cases share this machine; after a call of `alone` no other one's runs until this one is over."""
    with (tmp_path_factory.getbasetemp().parent / "machine").open("a") as lock:
        fcntl.flock(lock, fcntl.LOCK_SH)
        yield lambda: fcntl.flock(lock, fcntl.LOCK_EX)


@pytest.fixture
def temporary(tmp_path, monkeypatch):
    """The temporary folder of this process and of all that it starts."""
    folder = tmp_path / "tmp"
    folder.mkdir()
    monkeypatch.setenv("TMPDIR", str(folder))
    monkeypatch.setattr(tempfile, "tempdir", str(folder))
    return folder


def pytest_sessionfinish(session):
    """A worker of pytest-xdist sends home what it found."""
    if hasattr(session.config, "workeroutput"):
        session.config.workeroutput["found"] = FOUND


@pytest.hookimpl(optionalhook=True)
def pytest_testnodedown(node):
    for what, count in getattr(node, "workeroutput", {}).get("found", {}).items():
        FOUND[what] += count


def pytest_terminal_summary(terminalreporter):
    ended = sum(len(terminalreporter.stats.get(outcome, [])) for outcome in ("passed", "failed"))
    found = ", ".join(f"{what} {count}" for what, count in FOUND.items())
    terminalreporter.write_line(f"attacks: {ended} tried: {found}")
