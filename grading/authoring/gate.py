"""The author gate: what has to hold of a lab before a learner sees it (DESIGN 10)."""

import re
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from grading.authoring.batch import Job, Say, grade_jobs
from grading.authoring.experience import experience
from grading.authoring.links import wrong_links
from grading.authoring.mutate import BAR, Mutation, mutate
from grading.course import trees
from grading.course.catalog import Course, Lab
from grading.delivery.leaks import Guard
from grading.feedback import diagnose, exam, hints
from grading.feedback.diagnose import Fingerprint, Stored
from grading.judge.report import Report
from grading.judge.shared import Judges

STARTER, REFERENCE = "starter", "reference"  # no mistake may be called so
REFERENCE_SEEDS = (1, 2, 3)
WRITING_SEEDS = (1, 2, 3)  # what fingerprints.json is made of
CHECKING_SEEDS = (1,)  # what it is held against: one of those, so that CI does not hang on luck
UNWRITTEN = "error:NotImplementedError"
CONTRACT = re.compile(r"^#+ *(?:the )?contract\b.*?$(.*?)(?=^#|\Z)", re.MULTILINE | re.DOTALL | re.IGNORECASE)
NUMBER = re.compile(r"^(\d+)\. ", re.MULTILINE)


@dataclass
class Checked:
    """One lab's row of the table. `misses` are sentences; none of them means that the lab may be published."""

    lab: str
    tests: int = 0
    mistakes: int = 0
    seconds: float = 0.0
    misses: list[str] = field(default_factory=list)
    mutation: Mutation | None = None

    @property
    def good(self) -> bool:
        return not self.misses

    def as_json(self) -> dict:
        mutation = self.mutation.as_json() if self.mutation else None
        return {**vars(self), "mutation": mutation, "good": self.good}


def check(course: Course, lab: Lab, judges: Judges, *, write: bool, mutants: int | None, say: Say) -> Checked:
    """Grade everything that a lab has and list what does not hold; `write` renews fingerprints.json.

    `say` hears of each grading. `mutants`: so many, None for all; none are run where the reference does not pass.
    CourseError where a file of the lab does not fit its schema.
    """
    begun = time.monotonic()
    exam.load(lab)
    seeds = WRITING_SEEDS if write else CHECKING_SEEDS
    jobs = _jobs(course, lab, seeds)
    with _FingerprintsAside(lab, write):
        flat = [job for group in jobs.values() for job in group]
        reports = iter(grade_jobs(course, lab, flat, judges, say))
        graded = {name: [next(reports) for _ in group] for name, group in jobs.items()}
        starter, references = graded.pop(STARTER)[0], graded.pop(REFERENCE)
        fingerprints = {name: [diagnose.fingerprint(one) for one in found] for name, found in graded.items()}
        if write:
            stored = {name: diagnose.merge(found) for name, found in fingerprints.items()}
            diagnose.save(lab, [test.id for test in references[0].tests], stored)
    misses = [*_starter(starter), *_reference(references), *_branch(course, lab), *_instruments(lab)]
    misses += [*contract(lab, references[0]), *_topics(lab, references[0]), *wrong_links(course, lab)]
    misses += [*_unseen(graded), *_guards(references[0], graded)]
    misses += diagnoses(lab, seeds, fingerprints, diagnose.load(lab))
    mutation = None
    if mutants != 0 and all(report.verdict == "PASS" for report in references):
        mistakes = [(jobs[name][0].tree, found[0]) for name, found in graded.items()]
        known = experience(lab, jobs[REFERENCE][0].tree, references[:-1], mistakes)
        mutation = mutate(course, lab, judges, known, most=mutants, say=say)
        misses += _survived(mutation)
    seconds = round(time.monotonic() - begun, 1)
    return Checked(lab.id, len(references[0].tests), len(graded), seconds, misses, mutation)


def _jobs(course: Course, lab: Lab, seeds: Sequence[int]) -> dict[str, list[Job]]:
    """What is graded, by name: the starter, the reference (hidden and public tests), each mistake."""
    reference = trees.reference_tree(course, lab)
    jobs = {
        STARTER: [Job(STARTER, trees.starter_tree(course, lab), 1)],
        REFERENCE: [
            *(Job(REFERENCE, reference, seed, shuffled=seed != REFERENCE_SEEDS[0]) for seed in REFERENCE_SEEDS),
            Job(f"{REFERENCE}, public tests", reference, REFERENCE_SEEDS[0], "public"),
        ],
    }
    for path in sorted((lab.folder / "mistakes").glob("*.py")):
        tree = trees.patched_tree(course, lab, path.read_text(encoding="utf-8"))
        jobs[path.stem] = [Job(f"mistake {path.stem}", tree, seed) for seed in seeds]
    return jobs


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


def _starter(report: Report) -> Iterator[str]:
    if report.verdict != "FAIL":
        yield f"the starter is {ended(report)}, not FAIL"
    for test in report.tests:
        if test.guard and test.outcome != "passed":
            yield f"{test.id} is a guard, and fails on the starter ({test.kind})"
        elif not test.guard and test.kind != UNWRITTEN:
            yield f"{test.id} ends in {test.kind} on the starter, not in NotImplementedError"


def _reference(reports: list[Report]) -> Iterator[str]:
    """The last report is of the public tests."""
    for report in reports:
        if report.verdict != "PASS":
            which = "public" if report is reports[-1] else "hidden"
            yield f"the reference is {ended(report)} ({which} tests, seed {report.seed})"


def _branch(course: Course, lab: Lab) -> list[str]:
    return Guard(course).leaks(lab, trees.snapshot_tree(course, lab), trees.starter_tree(course, lab))


def _unseen(graded: dict[str, list[Report]]) -> Iterator[str]:
    """Mistakes that the hidden tests let pass, or that never reach them."""
    for name, reports in graded.items():
        for report in reports:
            if report.verdict not in ("FAIL", "TIMEOUT"):
                yield f"the mistake {name} is {ended(report)} (seed {report.seed})"


def _instruments(lab: Lab) -> Iterator[str]:
    """What measures a learner's code stands in a file without holes, and that is nobody's to edit."""
    for path in sorted({*lab.editable_paths} - {*lab.hole_files}):
        yield f"{path} is editable and has no hole: take it out of `editable`"


def _topics(lab: Lab, reference: Report) -> Iterator[str]:
    """Each test's topic has its hints."""
    known = hints.load(lab)
    for topic in sorted({test.topic for test in reference.tests if test.topic} - {*known}):
        yield f"hints.yaml has no topic {topic}, which a hidden test names"


def _guards(reference: Report, graded: dict[str, list[Report]]) -> Iterator[str]:
    """A guard that nothing wrong ever trips guards nothing. (Mutants change the holes alone; mistakes may do more.)"""
    tripped = {test.id for reports in graded.values() for report in reports for test in report.failed}
    for test in reference.tests:
        if test.guard and test.id not in tripped:
            yield f"no mistake trips the guard {test.id}: write one that does"


def _survived(mutation: Mutation) -> Iterator[str]:
    if mutation.score < BAR:
        yield f"{mutation.score:.1%} of {mutation.tried} mutants are killed; the bar is {BAR:.0%}"
    for one in mutation.lost:
        yield f"no verdict on a mutant: {one}"


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


def diagnoses(
    lab: Lab, seeds: Sequence[int], fingerprints: dict[str, list[Fingerprint]], stored: dict[str, Stored]
) -> Iterator[str]:
    """Every mistake is stored and diagnosed as itself over all seeds; no two look alike."""
    if set(stored) != set(fingerprints):
        yield f"fingerprints.json is not of these mistakes: labs check {lab.id} --write"
        return
    for one, other in diagnose.clash(stored):
        yield f"the mistakes {one} and {other} look alike: add a parameter or a note that tells them apart"
    for name, found in fingerprints.items():
        for seed, fingerprint in zip(seeds, found, strict=True):
            nearest = diagnose.nearest(fingerprint, stored)
            if nearest is None or nearest.name != name:
                yield f"the mistake {name} is diagnosed as {nearest.name if nearest else 'nothing'} (seed {seed})"
