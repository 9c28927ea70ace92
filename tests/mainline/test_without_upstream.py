"""What the Mainline seal says where something is missing, and what stubs do. Needs no snapshot."""

import sys
from pathlib import Path

import pytest

from grading.course import packages
from grading.course.catalog import Course
from grading.course.snapshots import SnapshotError
from grading.course.submission import from_tree
from grading.course.trees import reference_tree, starter_tree
from grading.judge.grade import grade
from grading.judge.report import Verdict
from grading.sandbox import stubs

COURSE = Course.load(Path(__file__).parents[2])


@pytest.fixture
def empty_cache(tmp_path, monkeypatch):
    monkeypatch.setenv("MAINLINE_CACHE", str(tmp_path))
    return tmp_path


def test_an_empty_cache_is_one_line_that_says_what_to_fetch(empty_cache):
    lab = COURSE.lab("l29")
    answer = from_tree(lab, reference_tree(COURSE, lab), starter_tree(COURSE, lab))
    report = grade(COURSE, lab, answer, jailed=False, seal="mainline")
    assert (report.verdict, report.exit_code) == (Verdict.INFRA, 3)
    assert report.reason == "l29's Mainline seal needs upstream's code: labs snapshots fetch verl slime"


def test_packages_are_installed_once_by_the_hash_of_their_lock(empty_cache, monkeypatch):
    lock = empty_cache / "some.txt"
    lock.write_text("packaging==25.0 --hash=sha256:" + "0" * 64 + "\n")
    calls = []

    def pip(arguments):
        calls.append(arguments)
        Path(arguments[arguments.index("--target") + 1]).mkdir()

    monkeypatch.setattr(packages, "_pip", pip)
    assert packages.pinned(lock) == ["packaging"]
    assert not packages.have(lock)
    assert packages.install(lock) == packages.install(lock) == packages.folder(lock)
    assert packages.have(lock)
    assert len(calls) == 1
    lock.write_text(lock.read_text().replace("25.0", "25.1"))
    assert not packages.have(lock)


def test_what_pip_cannot_install_leaves_nothing(empty_cache):
    lock = empty_cache / "some.txt"
    lock.write_text("no-hash-at-all==1\n")
    with pytest.raises(SnapshotError, match=r"^pip could not install what some\.txt pins: .+$"):
        packages.install(lock)
    assert not list((empty_cache / "packages").iterdir())


def test_a_stub_is_a_name_and_raises_when_it_is_used(monkeypatch):
    for name in ("upstreamish", "upstreamish.part"):
        monkeypatch.setitem(sys.modules, name, None)
    stubs.hollow("/nowhere", "upstreamish")
    stubs.stub("upstreamish.part", "Base helper", flag=3)
    from upstreamish.part import Base, flag, helper

    class Derived(Base):
        pass

    assert flag == 3
    assert helper | None is helper
    for used in (helper, Derived):
        with pytest.raises(RuntimeError, match="is a stub"):
            used()
