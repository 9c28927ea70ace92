"""Each lab's Mainline seal: the reference earns it, the starter and two known mistakes are shown where they part."""

from pathlib import Path

import pytest

from grading.course.catalog import Course
from grading.course.seals import has_mainline, mainline_settings
from grading.course.snapshots import SnapshotError
from grading.course.submission import from_tree
from grading.course.trees import starter_tree
from grading.delivery.answers import implementation
from grading.judge.carry import judge_for
from grading.judge.grade import grade
from grading.judge.report import Verdict
from grading.sandbox import jail

COURSE = Course.load(Path(__file__).parents[2])


@pytest.fixture(scope="module", params=[lab.id for lab in COURSE.labs if has_mainline(lab)])
def graded(request):
    """The lab, and what grades one of its implementations."""
    lab = COURSE.lab(request.param)
    try:
        settings = mainline_settings(COURSE, lab)
    except SnapshotError as missing:
        pytest.skip(str(missing))
    with judge_for(lab, jail.status().ok, settings) as judge:

        def run(name):
            answer = from_tree(lab, implementation(COURSE, lab, name), starter_tree(COURSE, lab))
            return grade(COURSE, lab, answer, jailed=jail.status().ok, judge=judge, seal="mainline")

        yield lab, run


def test_the_reference_earns_the_seal(graded):
    _, run = graded
    report = run("reference")
    assert (report.verdict, report.seal) == (Verdict.PASS, "mainline"), (report.reason, report.failed[:1])


def test_the_starter_does_not(graded):
    _, run = graded
    report = run("starter")
    assert report.verdict is Verdict.FAIL
    assert {test.kind for test in report.tests} == {"error:NotImplementedError"}


def test_a_mistake_is_shown_where_it_parts_from_upstream(graded):
    lab, run = graded
    names = [name for seal in lab.seals.mainline for name in seal.mistakes]
    assert len(names) >= 2, f"name two mistakes of {lab.id} in lab.yaml, seals.mainline[].mistakes"
    for name in names:
        report = run(f"mistake:{name}")
        assert report.verdict is Verdict.FAIL, (name, report.reason)
        located = [test for test in report.failed if test.message.startswith("the patch parts from upstream: ")]
        assert located, (name, report.failed)
        assert all(test.expected != test.got and "Inputs: " in test.message for test in located)
