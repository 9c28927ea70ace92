"""Grade each lab's reference many times, a fresh seed each time: not one may fail. Prints the seed of any that does."""

import argparse
import secrets
import sys
import time
from pathlib import Path

from grading.authoring.batch import Job, grade_jobs
from grading.course.catalog import Course, Lab
from grading.course.trees import reference_tree
from grading.judge.shared import Judges
from grading.sandbox import jail

ROOT = Path(__file__).parents[1]


def flakes(course: Course, lab: Lab, judges: Judges, gradings: int) -> int:
    """How many of `gradings` gradings of the reference are not PASS."""
    reference, begun = reference_tree(course, lab), time.monotonic()
    jobs = [Job("reference", reference, secrets.randbits(48)) for _ in range(gradings)]
    reports = grade_jobs(course, lab, jobs, judges, show_progress)
    failed = [report for report in reports if report.verdict != "PASS"]
    for report in failed:
        first = report.failed[0].id + ": " + report.failed[0].message if report.failed else report.reason
        print(f"{lab.id} seed {report.seed}: {report.verdict} {first}")
    each = (time.monotonic() - begun) / gradings
    print(f"{lab.id}: {gradings - len(failed)} of {gradings} PASS, {each:.2f} s each", flush=True)
    return len(failed)


def show_progress(phase: str, what: str, done: int, of: int) -> None:
    if sys.stderr.isatty():
        print(f"\r\033[K{phase} {done}/{of}: {what}", end="", file=sys.stderr, flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("labs", nargs="*")
    parser.add_argument("-n", type=int, default=100, help="gradings a lab")
    given = parser.parse_args()
    course = Course.load(ROOT)
    wanted = [course.lab(name) for name in given.labs] or course.labs
    with Judges(jail.status().ok, at_once=1) as judges:
        failed = sum(flakes(course, lab, judges, given.n) for lab in wanted)
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
