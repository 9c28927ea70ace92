"""What the labs say of upstream is pinned: anchors of seals stand in the locks, links to lines hold."""

from pathlib import Path

import pytest

from grading.authoring.links import wrong_links
from grading.course import cache
from grading.course.catalog import Course
from grading.course.snapshots import load
from grading.course.upstream import named

ROOT = Path(__file__).resolve().parents[2]
LOCKS = load(ROOT)
COURSE = Course.load(ROOT)
LABS = COURSE.labs


@pytest.mark.parametrize("lab", LABS, ids=lambda lab: lab.id)
def test_the_anchors_of_seals_are_locked(lab):
    wanted = [(seal.snapshot, name) for seal in lab.seals.mainline for name in seal.anchors]
    assert [(snapshot, name) for snapshot, name in wanted if name not in LOCKS[snapshot].anchors] == []


@pytest.mark.parametrize("lab", LABS, ids=lambda lab: lab.id)
def test_links_to_upstream_hold(lab):
    """Those to releases that are fetched."""
    assert wrong_links(COURSE, lab) == []


@pytest.mark.parametrize("lab", LABS, ids=lambda lab: lab.id)
def test_the_files_that_a_branch_shows_are_there(lab):
    shown = named(lab)
    missing = [name for name in shown if not cache.have(LOCKS[name])]
    if missing:
        pytest.skip(f"not fetched: labs snapshots fetch {' '.join(missing)}")
    assert all(cache.read(LOCKS[name], path) for name, paths in shown.items() for path in paths)
