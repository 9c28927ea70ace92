"""Mutation testing: do the hidden tests notice when a hole is a little wrong? (DESIGN 10)

Each mutant is one job of a warm judge, which ends at the first failing test. A test that often kills and costs little
goes first; what it does is learnt while the mutants run, for each hole apart.
"""

import queue
import random
import threading
import time
from collections import Counter
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Any

from grading.authoring.batch import Say
from grading.authoring.equivalent import split
from grading.authoring.mutants import Mutant, mutants
from grading.course.catalog import Course, Lab
from grading.course.trees import Tree, reference_tree
from grading.judge.carry import judge_of
from grading.judge.process import Judge
from grading.judge.report import TestResult

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


class Experience:
    """What is known of the tests: seconds of each on the reference, tries and kills of each in each hole."""

    def __init__(self, seconds: dict[str, float]):
        self.seconds = seconds
        self.tries: Counter[tuple[str, str]] = Counter()
        self.kills: Counter[tuple[str, str]] = Counter()

    def order(self, hole: str) -> list[str]:
        """Test ids, the likeliest kill for its time first."""

        def worth(test: str) -> float:
            chance = (self.kills[hole, test] + 0.5) / (self.tries[hole, test] + 1)
            return chance / max(self.seconds[test], 0.01)

        return sorted(self.seconds, key=worth, reverse=True)

    def learn(self, hole: str, ran: Sequence[str], killer: str | None) -> None:
        self.tries.update((hole, test) for test in ran)
        if killer:
            self.kills[hole, killer] += 1


def mutate(
    course: Course, lab: Lab, *, jailed: bool, at_once: int, most: int | None, say: Say, seed: int = SEED
) -> Mutation:
    """Run the lab's mutants, `at_once` beside each other, or `most` of them, drawn by the seed.

    The reference must pass. CourseError where equivalent.yaml names a mutant that there is not.
    """
    begun = time.monotonic()
    to_kill, equivalent = split(lab, mutants(course, lab))
    if most is not None and most < len(to_kill):
        to_kill = random.Random(seed).sample(to_kill, most)
    found = Mutation(len(to_kill), len(equivalent))
    if to_kill:
        _Run(course, lab, jailed, seed, found, say).carry_out(to_kill, at_once)
    found.seconds = round(time.monotonic() - begun, 1)
    return found


class _Run:
    """The mutants of one lab on their way through the judges."""

    def __init__(self, course: Course, lab: Lab, jailed: bool, seed: int, found: Mutation, say: Say):
        self.lab, self.jailed, self.found, self.say = lab, jailed, found, say
        self.reference: Tree = reference_tree(course, lab)
        self.job = {"seed": seed, "tests": str(lab.folder / "hidden"), "select": None}
        self.lock = threading.Lock()
        self.done = 0

    def carry_out(self, to_kill: list[Mutant], at_once: int) -> None:
        judges: queue.Queue[Judge] = queue.Queue()
        for _ in range(min(at_once, len(to_kill))):
            judges.put(judge_of(self.lab, self.jailed))
        try:
            self._time_reference(judges)
            with ThreadPoolExecutor(max_workers=at_once) as pool:
                list(pool.map(lambda mutant: self._one(mutant, judges, len(to_kill)), to_kill))
            self.found.survivors.sort(key=to_kill.index)  # not in the order in which the judges were done
        finally:
            while not judges.empty():
                judges.get().close()

    def _time_reference(self, judges: "queue.Queue[Judge]") -> None:
        """Its own time makes the deadlines; the first run is a warm-up for whatever is done once a process."""
        judge = judges.get()
        judges.put(judge)
        for _ in range(2):
            results, why = self._ask(judge, self.reference, self.job)
        seconds = {result.id: result.seconds for result in results}
        if why:
            self.found.lost.append(f"the reference: {why}")
        longest = self.lab.limits.probe_s
        deadlines = {test: min(max(TIMES_REFERENCE * took, SHORTEST_S), longest) for test, took in seconds.items()}
        self.experience = Experience(seconds)
        self.job |= {"stop": True, "deadlines": deadlines}

    def _one(self, mutant: Mutant, judges: "queue.Queue[Judge]", of: int) -> None:
        judge = judges.get()
        try:
            tree = self.reference | {mutant.path: mutant.source.encode()}
            results, why = self._in_time(judge, tree, mutant.hole)
            if why:  # ours, not the mutant's: once more, in a process that knows nothing of it
                judge.close()
                judge = judge_of(self.lab, self.jailed)
                results, why = self._in_time(judge, tree, mutant.hole)
        finally:
            judges.put(judge)
        with self.lock:
            self._note(mutant, results, why)
            self.done += 1
            self.say(f"{self.lab.id} mutants", f"{mutant.hole.partition('::')[2]}", self.done, of)

    def _in_time(self, judge: Judge, tree: Tree, hole: str) -> tuple[list[TestResult], str]:
        """As _ask; where a deadline passed that the reference misses as well, all get twice the time, and again."""
        for _ in range(CONTROLS):
            results, why = self._ask(judge, tree, self.job | {"first": self.experience.order(hole)})
            if not results or results[-1].outcome != "timeout":
                break
            control = self.job | {"first": [results[-1].id], "only": True}
            if all(result.outcome == "passed" for result in self._ask(judge, self.reference, control)[0]):
                break
            with self.lock:
                longest = self.lab.limits.probe_s
                self.job["deadlines"] = {test: min(2 * s, longest) for test, s in self.job["deadlines"].items()}
        return results, why

    def _ask(self, judge: Judge, tree: Tree, job: dict[str, Any]) -> tuple[list[TestResult], str]:
        """The results of one job, and why it broke off, if it did."""
        results = []
        for event in judge.run(tree, self.lab.editable_paths, self.reference, job, self.lab.limits.wall_s + SLACK_S):
            if event["event"] == "test":
                results.append(event["result"])
            elif event["event"] == "infra":
                return results, event["reason"]
        return results, ""

    def _note(self, mutant: Mutant, results: list[TestResult], why: str) -> None:
        failed = [result for result in results if result.outcome != "passed"]
        if failed:
            self.found.killed += 1
            self.found.by_time += failed[0].outcome == "timeout"
            self.experience.learn(mutant.hole, [result.id for result in results], failed[0].id)
        elif why or len(results) < len(self.experience.seconds):
            self.found.lost.append(f"{mutant.hole}, {mutant.becomes!r}: {why or 'tests are missing'}")
        else:
            self.found.survivors.append(mutant)
            self.experience.learn(mutant.hole, [result.id for result in results], None)
