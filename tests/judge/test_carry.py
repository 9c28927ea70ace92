"""What is not the learner's fault is tried again: a test that a busy machine made late, a process that broke off."""

import pytest
from synthetic import write_course

from grading.course.catalog import Course
from grading.course.submission import from_tree
from grading.course.trees import reference_tree, starter_tree
from grading.judge.carry import judge_for
from grading.judge.grade import grade
from grading.judge.report import Verdict
from grading.sandbox import jail

PROBE = "\n\ndef slowly(seconds):\n    import time\n    time.sleep(seconds)\n"
TEST = '''\
from pathlib import Path

import pytest

from grading import lab
from grading.judge.errors import InfraError


@lab.contract(1)
@pytest.mark.parametrize("name", ["one", "two", "three"])
def test_time(lab, name):
    """It answers in time."""
    met = Path(__file__).with_name(f"{{name}}.met")
    times = len(met.read_text()) if met.exists() else 0
    met.write_text("x" * (times + 1))
    if name == "one" and times < {broken}:
        raise InfraError("the disk is full")
    lab.run("slowly", seconds=60 if times < {late}.get(name, 0) else 0)
'''


@pytest.fixture(scope="module")
def course(tmp_path_factory):
    root = write_course(tmp_path_factory.mktemp("course"))
    settings, probes = root / "challenges/l01_double/lab.yaml", root / "challenges/l01_double/probes.py"
    settings.write_text(settings.read_text() + "limits: {probe_s: 1}\n")
    probes.write_text(probes.read_text() + PROBE)
    return Course.load(root)


@pytest.fixture
def graded(course):
    """Grade the reference by three tests: the first runs of those in `late` are late, the first `broken` break off."""
    lab = course.lab("l01")

    def run(judge, broken=0, **late):
        for met in lab.folder.glob("tests/*.met"):
            met.unlink()
        (lab.folder / "tests/test_public.py").write_text(TEST.format(late=late, broken=broken))
        starter, told = starter_tree(course, lab), []
        answer = from_tree(lab, reference_tree(course, lab), starter)
        how = {"jailed": jail.status().ok, "tests": "public", "judge": judge, "on_event": told.append}
        return grade(course, lab, answer, **how), [event for event in told if event["event"] == "again"]

    return run


def test_what_was_late_once_is_run_again_with_what_was_not_run(graded, judge):
    report, again = graded(judge, one=1, two=1)
    assert (report.verdict, [test.outcome for test in report.tests]) == (Verdict.PASS, ["passed"] * 3)
    assert again == [{"event": "again", "tests": 3}]


def test_where_the_reference_is_late_as_well_the_machine_is_slow(graded, judge):
    report, _ = graded(judge, three=1000)
    assert (report.verdict, report.exit_code) == (Verdict.INFRA, 3)
    assert report.reason == "slow machine: the reference does not answer in time either (tried twice)"


def test_a_process_that_broke_off_is_used_no_more(graded, course):
    with judge_for(course.lab("l01"), jail.status().ok) as own:
        assert graded(own, broken=1)[0].verdict is Verdict.PASS
        assert own.broken
        assert [event["event"] for event in own.run({}, (), {}, {}, 1.0)] == ["infra"]
