"""What the labs say of upstream is pinned: anchors of seals stand in the locks, lines of the exam in the files."""

from pathlib import Path

import pytest

from grading.course import cache
from grading.course.catalog import Course
from grading.course.snapshots import load
from grading.course.upstream import named
from grading.feedback import exam

ROOT = Path(__file__).resolve().parents[2]
LOCKS = load(ROOT)
LABS = Course.load(ROOT).labs


@pytest.mark.parametrize("lab", LABS, ids=lambda lab: lab.id)
def test_the_anchors_of_seals_are_locked(lab):
    wanted = [(seal.snapshot, name) for seal in lab.seals.mainline for name in seal.anchors]
    assert [(snapshot, name) for snapshot, name in wanted if name not in LOCKS[snapshot].anchors] == []


@pytest.mark.parametrize("lab", LABS, ids=lambda lab: lab.id)
def test_the_lines_that_an_exam_points_to_are_there(lab):
    sources = [one.source for one in exam.load(lab) if one.source]
    missing = {one.snapshot for one in sources if not cache.have(LOCKS[one.snapshot])}
    if missing:
        pytest.skip(f"not fetched: labs snapshots fetch {' '.join(sorted(missing))}")
    for one in sources:
        lock = LOCKS[one.snapshot]
        assert 1 <= one.lines[0] <= one.lines[1] <= len(cache.read(lock, lock.in_snapshot(one.path)).splitlines())


@pytest.mark.parametrize("lab", LABS, ids=lambda lab: lab.id)
def test_the_files_that_a_branch_shows_are_there(lab):
    shown = named(lab)
    missing = [name for name in shown if not cache.have(LOCKS[name])]
    if missing:
        pytest.skip(f"not fetched: labs snapshots fetch {' '.join(missing)}")
    assert all(cache.read(LOCKS[name], path) for name, paths in shown.items() for path in paths)
