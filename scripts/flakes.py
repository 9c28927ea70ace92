"""Grade each lab's reference many times, a fresh seed each time: not one may fail. Prints the seed of any that does."""

import argparse
import secrets
import sys
import time
from pathlib import Path

from grading.course.catalog import Course, Lab
from grading.course.submission import from_tree
from grading.course.trees import reference_tree, starter_tree
from grading.judge.grade import grade, judge_for
from grading.sandbox import jail

ROOT = Path(__file__).parents[1]


def flakes(course: Course, lab: Lab, gradings: int) -> int:
    """How many of `gradings` gradings of the reference are not PASS."""
    starter, jailed, failed = starter_tree(course, lab), jail.status().ok, 0
    answer = from_tree(lab, reference_tree(course, lab), starter)
    begun = time.monotonic()
    with judge_for(course, lab, jailed) as judge:
        for _ in range(gradings):
            report = grade(course, lab, answer, seed=secrets.randbits(48), jailed=jailed, judge=judge)
            if report.verdict != "PASS":
                failed += 1
                first = report.failed[0].id + ": " + report.failed[0].message if report.failed else report.reason
                print(f"{lab.id} seed {report.seed}: {report.verdict} {first}", flush=True)
    each = (time.monotonic() - begun) / gradings
    print(f"{lab.id}: {gradings - failed} of {gradings} PASS, {each:.2f} s each", flush=True)
    return failed


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("labs", nargs="*")
    parser.add_argument("-n", type=int, default=100, help="gradings a lab")
    given = parser.parse_args()
    course = Course.load(ROOT)
    wanted = [course.lab(name) for name in given.labs] or course.labs
    sys.exit(1 if sum(flakes(course, lab, given.n) for lab in wanted) else 0)


if __name__ == "__main__":
    main()
