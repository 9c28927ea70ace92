"""Each lab of the course: starter FAIL, reference PASS, and two of its known mistakes found and named.

Which two is drawn by a printed seed; the reference is graded with that seed too, the mistakes with one that their
fingerprints are made of. `make check-labs` grades all of them.
"""

import os
import random
from pathlib import Path

import pytest

from grading.authoring.batch import Job, grade_jobs
from grading.authoring.gate import WRITING_SEEDS
from grading.course.catalog import Course
from grading.course.trees import patched_tree, reference_tree, starter_tree
from grading.feedback import diagnose
from grading.judge.report import Verdict
from grading.sandbox import jail

COURSE = Course.load(Path(__file__).parents[2])
SEED = int(os.environ.get("MAINLINE_SEED") or random.SystemRandom().randrange(1 << 32))
MISTAKES = 2


def drawn(lab):
    names = sorted(path.stem for path in (lab.folder / "mistakes").glob("*.py"))
    return random.Random(SEED).sample(names, MISTAKES)


@pytest.fixture(scope="module", params=COURSE.order)
def graded(request):
    """The lab, and its reports: starter, reference, then each drawn mistake by name."""
    lab = COURSE.lab(request.param)
    print(f"MAINLINE_SEED={SEED} draws {drawn(lab)} of {lab.id}")
    trees = {"starter": starter_tree(COURSE, lab), "reference": reference_tree(COURSE, lab)}
    trees |= {name: patched_tree(COURSE, lab, (lab.folder / f"mistakes/{name}.py").read_text()) for name in drawn(lab)}
    jobs = [Job(name, tree, WRITING_SEEDS[0] if name in drawn(lab) else SEED) for name, tree in trees.items()]
    reports = grade_jobs(COURSE, lab, jobs, jailed=jail.status().ok, at_once=2)
    return lab, dict(zip(trees, reports, strict=True))


def test_the_starter_fails_because_it_is_unwritten(graded):
    _, reports = graded
    assert reports["starter"].verdict is Verdict.FAIL
    kinds = {(test.kind, test.guard) for test in reports["starter"].tests}
    assert kinds <= {("error:NotImplementedError", False), ("ok", True)}
    assert ("error:NotImplementedError", False) in kinds


def test_the_reference_passes(graded):
    _, reports = graded
    report = reports["reference"]
    assert report.verdict is Verdict.PASS, (report.reason, [(test.id, test.message) for test in report.failed])


def test_mistakes_are_found_and_named(graded):
    lab, reports = graded
    stored = diagnose.load(lab)
    for name in drawn(lab):
        assert reports[name].verdict in (Verdict.FAIL, Verdict.TIMEOUT), name
        assert diagnose.nearest(diagnose.fingerprint(reports[name]), stored).name == name
