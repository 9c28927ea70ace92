"""Hostile code in the graded file: each case by the whole path, then with the lint skipped, on one warm judge.

After each case an honest patch passes and a wrong one fails on the same judge, and nothing is left of the case.
"""

import re
import tempfile
import time

import pytest
from hostile import HOOKS, MEMORY_MB, PROBE_S, Case, Ground, cases, patched, told

from grading.course.catalog import Course, find_course
from grading.course.trees import run_settings
from grading.judge.grade import grade
from grading.judge.process import Judge, wants_reference
from grading.judge.report import Report

SLACK_S = 2.0  # over the limit of each test that was run, on an idle machine
LIMITS = {"probe_s": PROBE_S, "memory_mb": MEMORY_MB}
PROPERTIES = {f"P{number}" for number in range(1, 15)}
PENDING_ROWS = {"B50"}  # rows of the table that have no case yet
ALL = cases()


@pytest.fixture(scope="module")
def course(pytestconfig) -> Course:
    return find_course(pytestconfig.rootpath)


@pytest.fixture(scope="module")
def ground(course, tmp_path_factory):
    """ground(lab id) -> (lab, its Ground): a judge a lab, each in a temporary folder of its own."""
    before = tempfile.tempdir
    folders: dict[str, str] = {}
    made: dict[str, tuple] = {}

    def of(lab_id: str):
        tempfile.tempdir = _folder_of(lab_id, folders, tmp_path_factory)
        if lab_id not in made:
            lab = course.lab(lab_id)
            lab = lab.model_copy(update={"limits": lab.limits.model_copy(update=LIMITS)})
            judge = Judge(run_settings(lab), wants_reference(lab), jailed=True)
            made[lab_id] = (lab, judge)
            assert graded(course, lab, judge, "").verdict == "PASS"  # warm now
            made[lab_id] = (lab, Ground(judge))
            honest(course, *made[lab_id])
        return made[lab_id]

    yield of
    tempfile.tempdir = before
    for _, stood in made.values():
        (stood.judge if isinstance(stood, Ground) else stood).close()


def _folder_of(lab_id: str, folders: dict[str, str], tmp_path_factory) -> str:
    if lab_id not in folders:
        folders[lab_id] = str(tmp_path_factory.mktemp(lab_id))
    return folders[lab_id]


def graded(course, lab, judge, source: str, linted: bool = False) -> Report:
    answer = patched(course, lab, source)
    return grade(course, lab, answer, judge=judge, linted=linted, select=HOOKS[lab.id].select)


def honest(course, lab, stood: Ground) -> None:
    """The reference passes; the time it takes says how busy this machine is, and so what a case may take."""
    begun = time.monotonic()
    assert graded(course, lab, stood.judge, "").verdict == "PASS"
    stood.slack_s = SLACK_S + 5 * (time.monotonic() - begun)


def timed(course, lab, stood: Ground, case: Case, linted: bool) -> tuple[Report, float]:
    begun = time.monotonic()
    report = graded(course, lab, stood.judge, case.source, linted)
    return report, time.monotonic() - begun


def most_s(report: Report, slack_s: float) -> float:
    """What a case may take on an idle machine."""
    runs = max(1, len(report.tests)) + (report.verdict == "TIMEOUT")  # what is late is tried once more
    return runs * PROBE_S + slack_s


def held(report: Report, wanted: frozenset[str], took_s: float, slack_s: float) -> None:
    """The verdict is one of those wanted, and came in time."""
    words = f"{report.verdict} {report.reason} {[(test.kind, test.message) for test in report.tests]}"
    assert report.verdict in wanted, f"wanted {' or '.join(sorted(wanted))}, got {words} {report.refusals}"
    assert took_s <= most_s(report, slack_s), f"{took_s:.1f} s: {words}"


@pytest.mark.parametrize("case", ALL, ids=lambda case: case.id)
def test_case(case: Case, course, ground, alone):
    lab, stood = ground(case.lab)
    for linted, wanted in ((True, case.lint), (False, case.wall)):
        report, took_s = timed(course, lab, stood, case, linted)
        if took_s > most_s(report, stood.slack_s):  # its second try waits for the other worker's probes
            alone()
            report, took_s = timed(course, lab, stood, case, linted)
        held(report, wanted, took_s, stood.slack_s)
    assert re.search(case.says, told(report)), told(report)
    assert stood.changes() == []
    honest(course, lab, stood)
    assert graded(course, lab, stood.judge, HOOKS[lab.id].wrong).verdict == "FAIL"


def test_every_row_of_the_table_has_a_case():
    assert {case.id[:3] for case in ALL} >= {f"B{number:02}" for number in range(1, 71)} - PENDING_ROWS
    assert {name for case in ALL for name in case.defends} <= PROPERTIES


def test_every_case_expects_what_the_judge_can_say():
    verdicts = {"PASS", "FAIL", "TIMEOUT", "REFUSED", "TAMPER"}
    assert all(case.lint | case.wall <= verdicts for case in ALL)
    assert all("PASS" not in case.wall or case.says == "" for case in ALL)
