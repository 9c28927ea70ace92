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
from grading.judge.shared import Judges
from grading.sandbox import jail

COURSE = Course.load(Path(__file__).parents[2])
SEED = int(os.environ.get("MAINLINE_SEED") or random.SystemRandom().randrange(1 << 32))
MISTAKES = 2


@pytest.fixture(scope="module")
def judges():
    with Judges(jail.status().ok, 1) as shared:
        yield shared


@pytest.mark.parametrize("name", COURSE.order)
def test_a_lab(judges, name):
    """One test a lab: its gradings are what costs, and a worker of pytest-xdist shares nothing with the other."""
    lab = COURSE.lab(name)
    drawn = random.Random(SEED).sample(sorted(path.stem for path in (lab.folder / "mistakes").glob("*.py")), MISTAKES)
    print(f"MAINLINE_SEED={SEED} draws {drawn} of {name}")
    jobs = [Job("starter", starter_tree(COURSE, lab), SEED), Job("reference", reference_tree(COURSE, lab), SEED)]
    for mistake in drawn:
        tree = patched_tree(COURSE, lab, (lab.folder / f"mistakes/{mistake}.py").read_text())
        jobs.append(Job(mistake, tree, WRITING_SEEDS[0]))
    starter, reference, *mistaken = grade_jobs(COURSE, lab, jobs, judges)
    fails_because_it_is_unwritten(starter)
    assert reference.verdict is Verdict.PASS, (reference.reason, [(one.id, one.message) for one in reference.failed])
    for mistake, report in zip(drawn, mistaken, strict=True):
        assert report.verdict in (Verdict.FAIL, Verdict.TIMEOUT), mistake
        assert diagnose.nearest(diagnose.fingerprint(report), diagnose.load(lab)).name == mistake


def fails_because_it_is_unwritten(report):
    assert report.verdict is Verdict.FAIL
    kinds = {(test.kind, test.guard) for test in report.tests}
    assert kinds <= {("error:NotImplementedError", False), ("ok", True)}
    assert ("error:NotImplementedError", False) in kinds
