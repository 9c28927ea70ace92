"""The author gate: what has to hold of a lab before a learner sees it (DESIGN 10)."""

import re
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass, field

from grading.course import trees
from grading.course.catalog import Course, Lab
from grading.course.submission import Refused, from_tree
from grading.delivery.leaks import Guard
from grading.feedback import diagnose
from grading.feedback.diagnose import Fingerprint, Stored
from grading.judge.grade import grade
from grading.judge.report import Report

REFERENCE_SEEDS = (1, 2, 3)
MISTAKE_SEEDS = (1, 2, 3, 4, 5)
UNWRITTEN = "error:NotImplementedError"
CONTRACT = re.compile(r"^#* *Contract\b.*?$(.*?)(?=^#|\Z)", re.MULTILINE | re.DOTALL)
NUMBER = re.compile(r"^(\d+)\. ", re.MULTILINE)
Say = Callable[[str], None]


@dataclass
class Checked:
    """One lab's row of the table. `misses` are sentences; none of them means that the lab may be published."""

    lab: str
    tests: int = 0
    mistakes: int = 0
    seconds: float = 0.0
    misses: list[str] = field(default_factory=list)

    @property
    def good(self) -> bool:
        return not self.misses

    @property
    def summary(self) -> str:
        return f"{self.tests} tests, {self.mistakes} mistakes, {self.seconds:.0f} s"

    def as_json(self) -> dict:
        return {**asdict(self), "good": self.good}


def check(course: Course, lab: Lab, *, write: bool, jailed: bool, at_once: int, say: Say) -> Checked:
    """Grade everything that a lab has and list what does not hold; `write` renews fingerprints.json.

    `at_once` gradings run beside each other; `say` gets a line for each as it begins.
    """
    begun = time.monotonic()
    gate = _Gate(course, lab, jailed, at_once, say)
    with _FingerprintsAside(lab, write):
        reference = gate.reference()
        misses = [*gate.starter(), *gate.reference_misses, *gate.branch(), *contract(lab, reference)]
        fingerprints = gate.mistakes()
        stored = {name: diagnose.merge(found) for name, found in fingerprints.items()}
        if write:
            diagnose.save(lab, [test.id for test in reference.tests], stored)
    misses += [*gate.mistake_misses, *diagnoses(lab, fingerprints, diagnose.load(lab))]
    return Checked(lab.id, len(reference.tests), len(stored), round(time.monotonic() - begun, 1), misses)


class _FingerprintsAside:
    """While fingerprints are renewed, the old list of hidden tests does not count; it comes back if that fails."""

    def __init__(self, lab: Lab, write: bool):
        self.path, self.write = lab.folder / "fingerprints.json", write
        self.old: bytes | None = None

    def __enter__(self) -> None:
        if self.write and self.path.is_file():
            self.old = self.path.read_bytes()
            self.path.unlink()

    def __exit__(self, *error: object) -> None:
        if self.old is not None and not self.path.is_file():
            self.path.write_bytes(self.old)


@dataclass
class _Gate:
    course: Course
    lab: Lab
    jailed: bool
    at_once: int
    say: Say
    reference_misses: list[str] = field(default_factory=list)
    mistake_misses: list[str] = field(default_factory=list)

    def grade(self, what: str, tree: trees.Tree, seed: int, tests: str = "hidden") -> Report:
        self.say(f"{self.lab.id}: {what}, seed {seed}")
        starter = trees.starter_tree(self.course, self.lab)
        try:
            answer = from_tree(self.lab, tree, starter)
        except Refused as refused:
            answer = refused
        return grade(self.course, self.lab, answer, seed=seed, jailed=self.jailed, tests=tests)

    def grade_all(self, what: str, tree: trees.Tree, seeds: Sequence[int]) -> list[Report]:
        """A report a seed, `at_once` at a time."""
        with ThreadPoolExecutor(max_workers=self.at_once) as pool:
            return list(pool.map(lambda seed: self.grade(what, tree, seed), seeds))

    def starter(self) -> Iterator[str]:
        report = self.grade("starter", trees.starter_tree(self.course, self.lab), 1)
        if report.verdict != "FAIL":
            yield f"the starter is {ended(report)}, not FAIL"
        for test in report.tests:
            if test.guard and test.outcome != "passed":
                yield f"{test.id} is a guard, and fails on the starter ({test.kind})"
            elif not test.guard and test.kind != UNWRITTEN:
                yield f"{test.id} ends in {test.kind} on the starter, not in NotImplementedError"

    def reference(self) -> Report:
        tree = trees.reference_tree(self.course, self.lab)
        reports = self.grade_all("reference", tree, REFERENCE_SEEDS)
        public = self.grade("reference, public tests", tree, REFERENCE_SEEDS[0], tests="public")
        for what, report in [("hidden", report) for report in reports] + [("public", public)]:
            if report.verdict != "PASS":
                self.reference_misses.append(f"the reference is {ended(report)} ({what} tests, seed {report.seed})")
        return reports[0]

    def branch(self) -> list[str]:
        snapshot, starter = trees.snapshot_tree(self.course, self.lab), trees.starter_tree(self.course, self.lab)
        return Guard(self.course).leaks(self.lab, snapshot, starter)

    def mistakes(self) -> dict[str, list[Fingerprint]]:
        """Name -> a fingerprint a seed."""
        found = {}
        for path in sorted((self.lab.folder / "mistakes").glob("*.py")):
            tree = trees.patched_tree(self.course, self.lab, path.read_text(encoding="utf-8"))
            reports = self.grade_all(f"mistake {path.stem}", tree, MISTAKE_SEEDS)
            self.mistake_misses += [
                f"the mistake {path.stem} is {ended(report)} (seed {report.seed})"
                for report in reports
                if report.verdict not in ("FAIL", "TIMEOUT")
            ]
            found[path.stem] = [diagnose.fingerprint(report) for report in reports]
        return found


def ended(report: Report) -> str:
    """A verdict and why, in one line."""
    why = report.reason
    if report.refusals:
        first = report.refusals[0]
        why = f"{first.path}:{first.line or 1}: {first.reason}"
    elif report.failed:
        why = ", ".join(f"{test.id} {test.kind}" for test in report.failed[:3])
    return f"{report.verdict} ({why})" if why else str(report.verdict)


def contract(lab: Lab, reference: Report) -> Iterator[str]:
    """Each number of task.md's contract has a hidden test, and no test names a number that is not there."""
    section = CONTRACT.search((lab.folder / "task.md").read_text(encoding="utf-8"))
    promised = [int(number) for number in NUMBER.findall(section[1])] if section else []
    if not promised:
        yield "task.md has no section 'Contract' with lines '1. …'"
        return
    tested = {number for test in reference.tests for number in test.contract}
    for number in sorted(set(promised) - tested):
        yield f"no hidden test for contract {number}"
    for number in sorted(tested - set(promised)):
        yield f"a hidden test names contract {number}, which task.md does not have"


def diagnoses(lab: Lab, fingerprints: dict[str, list[Fingerprint]], stored: dict[str, Stored]) -> Iterator[str]:
    """Every mistake is stored and diagnosed as itself over all seeds; no two look alike."""
    if set(stored) != set(fingerprints):
        yield f"fingerprints.json is not of these mistakes: labs check {lab.id} --write"
        return
    for one, other in diagnose.clash(stored):
        yield f"the mistakes {one} and {other} look alike: add a parameter or a note that tells them apart"
    for name, found in fingerprints.items():
        for seed, fingerprint in zip(MISTAKE_SEEDS, found, strict=True):
            nearest = diagnose.nearest(fingerprint, stored)
            if nearest is None or nearest.name != name:
                yield f"the mistake {name} is diagnosed as {nearest.name if nearest else 'nothing'} (seed {seed})"
