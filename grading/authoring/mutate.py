"""Mutation testing: do the hidden tests notice when a hole is a little wrong? (DESIGN 10)

Each mutant is one job of a warm judge, which ends at the first failing test. A test that often kills and costs little
goes first, for each hole apart: the mistakes tell which, and then the mutants as they run.
"""

import random
import threading
import time
from dataclasses import dataclass, field
from typing import Any

from grading.authoring.batch import Say
from grading.authoring.equivalent import split
from grading.authoring.experience import Experience
from grading.authoring.mutants import Mutant, mutants
from grading.course.catalog import Course, Lab
from grading.course.trees import Tree, reference_tree
from grading.judge.process import JOB_LIMITS
from grading.judge.report import TestResult
from grading.judge.shared import Judges

SEED = 1  # one for all mutants and runs: a mutant that lives or dies by luck would make CI do so
BAR = 0.95
SHORTEST_S, TIMES_REFERENCE = 0.5, 5.0  # a mutant's deadline: clamp(5 × reference, 0.5 s, probe_s)
CONTROLS = 4  # so often a busy machine gets more time before its clock is believed
SLACK_S = 60.0


@dataclass
class Mutation:
    """What became of one lab's mutants. `by_time`: killed because a deadline passed; `lost`: no verdict, and why."""

    tried: int
    equivalent: int
    seconds: float = 0.0
    killed: int = 0
    by_time: int = 0
    survivors: list[Mutant] = field(default_factory=list)
    lost: list[str] = field(default_factory=list)

    @property
    def score(self) -> float:
        return self.killed / self.tried if self.tried else 1.0

    def as_json(self) -> dict[str, Any]:
        counts = {name: getattr(self, name) for name in ("tried", "killed", "by_time", "equivalent", "seconds", "lost")}
        return counts | {"seed": SEED, "score": self.score, "survivors": [one.diff for one in self.survivors]}


def mutate(
    course: Course, lab: Lab, judges: Judges, known: Experience, *, most: int | None, say: Say, seed: int = SEED
) -> Mutation:
    """Run the lab's mutants, or `most` of them, drawn by the seed; `known` of the tests, and it learns.

    The reference must pass. CourseError where equivalent.yaml names a mutant that there is not.
    """
    begun = time.monotonic()
    to_kill, equivalent = split(lab, mutants(course, lab))
    if most is not None and most < len(to_kill):
        to_kill = random.Random(seed).sample(to_kill, most)
    found = Mutation(len(to_kill), len(equivalent))
    run = _Run(lab, reference_tree(course, lab), judges, known, seed, found, say)
    judges.map(lambda mutant: run.one(mutant, len(to_kill)), to_kill)
    found.survivors.sort(key=to_kill.index)  # not in the order in which the judges were done
    found.seconds = round(time.monotonic() - begun, 1)
    return found


class _Run:
    """The mutants of one lab on their way through the judges."""

    def __init__(
        self, lab: Lab, reference: Tree, judges: Judges, known: Experience, seed: int, found: Mutation, say: Say
    ):
        self.lab, self.reference, self.judges, self.known = lab, reference, judges, known
        self.found, self.say = found, say
        self.limits = {name: getattr(lab.limits, name) for name in JOB_LIMITS}
        longest = self.limits["probe_s"]
        self.deadlines = {t: min(max(TIMES_REFERENCE * s, SHORTEST_S), longest) for t, s in known.seconds.items()}
        self.job = {"seed": seed, "tests": str(lab.folder / "hidden"), "select": None, "limits": self.limits}
        self.lock = threading.Lock()
        self.done = 0

    def one(self, mutant: Mutant, of: int) -> None:
        tree = self.reference | {mutant.path: mutant.source.encode()}
        results, why = self._in_time(tree, mutant.hole)
        if why:  # ours, not the mutant's: once more, in a process that knows nothing of it
            results, why = self._in_time(tree, mutant.hole)
        with self.lock:
            self._note(mutant, results, why)
            self.done += 1
            self.say(f"{self.lab.id} mutants", f"{mutant.hole.partition('::')[2]}", self.done, of)

    def _in_time(self, tree: Tree, hole: str) -> tuple[list[TestResult], str]:
        """As _ask; where a deadline passed that the reference misses as well, all get twice the time, and again."""
        for _ in range(CONTROLS):
            results, why = self._ask(tree, first=self.known.order(hole), stop=True)
            if not results or results[-1].outcome != "timeout":
                break
            control, _ = self._ask(self.reference, first=[results[-1].id], only=True)
            if all(result.outcome == "passed" for result in control):
                break
            with self.lock:
                self.deadlines = {test: min(2 * s, self.limits["probe_s"]) for test, s in self.deadlines.items()}
        return results, why

    def _ask(self, tree: Tree, **more: Any) -> tuple[list[TestResult], str]:
        """The results of one job, and why it broke off, if it did."""
        results: list[TestResult] = []
        job = self.job | {"deadlines": self.deadlines} | more
        with self.judges.lend(self.lab) as judge:
            for event in judge.run(tree, (), self.reference, job, self.limits["wall_s"] + SLACK_S):
                if event["event"] == "test":
                    results.append(event["result"])
                elif event["event"] == "infra":
                    return results, event["reason"]
        return results, ""

    def _note(self, mutant: Mutant, results: list[TestResult], why: str) -> None:
        failed, ran = [one for one in results if one.outcome != "passed"], [one.id for one in results]
        if failed:
            self.found.killed += 1
            self.found.by_time += failed[0].outcome == "timeout"
            self.known.learn(mutant.hole, ran, [failed[0].id])
        elif why or len(results) < len(self.known.seconds):
            self.found.lost.append(f"{mutant.hole}, {mutant.becomes!r}: {why or 'tests are missing'}")
        else:
            self.found.survivors.append(mutant)
            self.known.learn(mutant.hole, ran, ())
