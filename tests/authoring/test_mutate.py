"""Mutants of the tiny course through a warm judge: killed, killed by time, and those that live."""

import pytest
from synthetic import write_course

from grading.authoring.batch import Job, grade_jobs
from grading.authoring.experience import Experience, experience
from grading.authoring.mutate import mutate
from grading.course.catalog import Course
from grading.course.trees import reference_tree
from grading.judge.shared import Judges
from grading.sandbox import jail

LINES = ["    while x is None:", "        pass", "    for _ in range(1):", "        pass", "    return x + x"]


@pytest.fixture(scope="module")
def course(tmp_path_factory):
    root = write_course(tmp_path_factory.mktemp("course"))
    path = root / "mini_infra/tiny/ops.py"
    text = path.read_text()
    start, end = text.index("    # Doubling"), text.index("\n\n\ndef quadruple")
    path.write_text(text[:start] + "\n".join(LINES) + text[end:])
    return Course.load(root)


def test_wrong_mutants_are_killed_and_idle_changes_live(course):
    told = []
    lab, reference = course.lab("l01"), reference_tree(course, course.lab("l01"))
    with Judges(jail.status().ok, 2) as judges:
        known = experience(lab, reference, grade_jobs(course, lab, [Job("reference", reference, 1)], judges), [])
        found = mutate(course, lab, judges, known, most=None, say=lambda *one: told.append(one))
    assert [one.becomes for one in found.survivors] == ["for _ in range( 2):", "for _ in range( 0):", "for _ in []:"]
    assert (found.tried, found.killed, found.by_time, found.lost) == (16, 13, 2, [])
    assert told[-1][2:] == (16, 16)
    assert found.as_json()["score"] == 13 / 16


def test_a_test_that_kills_goes_first_and_cheap_ones_before_anything_is_known():
    known = Experience({"slow": 1.0, "cheap": 0.1, "dear": 5.0})
    assert known.order("f") == ["cheap", "slow", "dear"]
    for _ in range(60):
        known.learn("f", ["cheap", "slow"], ["slow"])
    assert known.order("f") == ["slow", "dear", "cheap"]
    assert known.order("g") == ["cheap", "slow", "dear"]
