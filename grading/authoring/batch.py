"""Many gradings of the course's own trees: a few judge processes, each kept warm, share one list of jobs."""

import queue
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

from grading.course.catalog import Course, Lab
from grading.course.submission import Refused, Submission, from_tree
from grading.course.trees import Tree, starter_tree
from grading.judge.carry import judge_of
from grading.judge.grade import grade
from grading.judge.process import Judge
from grading.judge.report import Report

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
    course: Course, lab: Lab, jobs: Sequence[Job], *, jailed: bool, at_once: int, say: Say = lambda *told: None
) -> list[Report]:
    """A report a job, in the order of the jobs; `at_once` run beside each other. Trusted trees only."""
    idle: queue.Queue[Judge] = queue.Queue()

    def one(numbered: tuple[int, Job]) -> Report:
        number, job = numbered
        say(f"{lab.id} gradings", f"{job.what}, seed {job.seed}", number - 1, len(jobs))
        judge = idle.get()
        try:
            answer = _answer(course, lab, job.tree)
            how = {"seed": job.seed, "tests": job.tests, "shuffled": job.shuffled}
            return grade(course, lab, answer, jailed=jailed, judge=judge, **how)
        finally:
            if judge.broken:
                judge.close()
                judge = judge_of(lab, jailed)
            idle.put(judge)

    try:
        for _ in range(min(at_once, len(jobs))):
            idle.put(judge_of(lab, jailed))
        with ThreadPoolExecutor(max_workers=at_once) as pool:
            return list(pool.map(one, enumerate(jobs, 1)))
    finally:
        while not idle.empty():
            idle.get().close()


def _answer(course: Course, lab: Lab, tree: Tree) -> Submission | Refused:
    try:
        return from_tree(lab, tree, starter_tree(course, lab))
    except Refused as refused:
        return refused
