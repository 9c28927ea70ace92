"""Many gradings of the course's own trees on shared judges."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from grading.course.catalog import Course, Lab
from grading.course.submission import from_tree
from grading.course.trees import Tree, starter_tree
from grading.judge.grade import grade
from grading.judge.report import Report
from grading.judge.shared import Judges

Say = Callable[[str, str, int, int], None]  # of which list, what is being done, so many are done, of so many


@dataclass(frozen=True)
class Job:
    """One grading: what it is called, which tree, which seed, which tests ("hidden" or "public"), in which order."""

    what: str
    tree: Tree
    seed: int
    tests: str = "hidden"
    shuffled: bool = False


def grade_jobs(
    course: Course, lab: Lab, jobs: Sequence[Job], judges: Judges, say: Say = lambda *told: None
) -> list[Report]:
    """A report a job, in the order of the jobs."""
    starter = starter_tree(course, lab)

    def one(numbered: tuple[int, Job]) -> Report:
        number, job = numbered
        say(f"{lab.id} gradings", f"{job.what}, seed {job.seed}", number - 1, len(jobs))
        how = {"seed": job.seed, "tests": job.tests, "shuffled": job.shuffled, "starter": starter, "trusted": True}
        with judges.lend(lab) as judge:
            return grade(course, lab, from_tree(lab, job.tree, starter), jailed=judges.jailed, judge=judge, **how)

    return judges.map(one, enumerate(jobs, 1))
