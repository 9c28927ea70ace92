"""What goes with a Report: the diagnosis, the hint that was earned, the exam, the command that repeats it.

This is the one place where feedback reads the course's files; rendering takes Report and Advice and reads nothing.
"""

from collections.abc import Collection, Mapping, Sequence

from pydantic import Field

from grading.course import snapshots
from grading.course.catalog import Course, Lab
from grading.feedback import diagnose, exam, hints, outline
from grading.feedback.diagnose import Diagnosis
from grading.feedback.exam import Asked
from grading.feedback.hints import Hint
from grading.judge.report import Model, Report, Verdict


class Attempt(Model):
    """One earlier graded push. `topics` are those of its failing tests."""

    n: int
    user: str
    commit: str
    verdict: Verdict
    topics: list[str] = Field(default=[])
    when: str = ""
    seal: str = "patch"
    counts: bool = Field(default=True, description="False when it ran without a jail: it earns no seal")


class Advice(Model):
    """Free of anything hidden: it is stored where learners can read it."""

    diagnosis: Diagnosis | None = None
    topic: str = ""
    hint: Hint | None = None
    exam: list[Asked] = Field(default=[])
    repeat_command: str
    mainline_command: str = Field(default="", description="what earns the Mainline seal, once the Patch seal is there")
    attempt: int = Field(default=0, description="0: this run is no attempt")
    seals: dict[str, bool] = Field(default={}, description="the lab's seals in order: does the learner have it")


def advise(
    course: Course,
    lab: Lab,
    report: Report,
    attempts: Sequence[Attempt] | None,
    asked: Mapping[str, int] | None = None,
    given: str = "",
    earned: Collection[str] = (),
) -> Advice:
    """`attempts`: the learner's earlier ones, without this one; None when this run is no attempt (`labs test`).

    `asked`: the highest level per topic that the learner asked for by `labs hint`. `given`: the options that told
    `labs grade` what to grade; by default the report's commit. `earned`: seals that the learner's clone has on record.
    """
    topic, seals = hints.topic_of(report), _seals(lab, report, attempts or [], earned)
    return Advice(
        diagnosis=diagnose.of(lab, report),
        topic=topic,
        hint=_hint(course, lab, report, topic, attempts, asked or {}),
        exam=_exam(course, lab, report),
        repeat_command=repeat_command(course, report, given),
        attempt=0 if attempts is None or report.verdict is Verdict.INFRA else len(attempts) + 1,
        mainline_command=_mainline_command(course, report, seals, given),
        seals=seals,
    )


def topics(report: Report) -> list[str]:
    """The topics of the failing tests, for the Attempt that remembers this report."""
    return list(dict.fromkeys(test.topic for test in report.failed if test.topic))


def _hint(
    course: Course, lab: Lab, report: Report, topic: str, attempts: Sequence[Attempt] | None, asked: Mapping[str, int]
) -> Hint | None:
    if not topic or (outline.common(report) and not outline.failures(report)[0].holes):
        return None
    failing = 0 if attempts is None else 1 + sum(topic in attempt.topics for attempt in attempts)
    return hints.give(hints.load(lab), topic, hints.level(failing, course.hint_after, asked.get(topic, 0)))


def _exam(course: Course, lab: Lab, report: Report) -> list[Asked]:
    if report.verdict is not Verdict.PASS or outline.public(report):
        return []
    locks = snapshots.load(course.root)
    return [exam.asked(one, locks) for one in exam.draw(exam.load(lab), report.commit or report.base)]


def repeat_command(course: Course, report: Report, given: str = "") -> str:
    """What repeats this grading on the learner's machine; a sealed course has only the public tests there."""
    if outline.public(report) or course.mode == "sealed":
        return "labs test"
    seal = "" if report.seal == "patch" else f" --seal {report.seal}"
    how = f"--seed {report.seed}{seal}{' --no-jail' if report.jail == 'none' else ''}"
    return f"labs grade {report.lab} {_what(report, given)} {how}"


def _what(report: Report, given: str) -> str:
    return given or (f"--commit {report.commit[:7]}" if report.commit else "--worktree .")


def _mainline_command(course: Course, report: Report, seals: Mapping[str, bool], given: str) -> str:
    """What a PASS of the hidden tests is followed by, where the seal is to be had and is not earned yet."""
    passed = report.verdict is Verdict.PASS and report.seal == "patch" and not outline.public(report)
    if not passed or course.mode == "sealed" or seals.get("mainline", True):
        return ""
    return f"labs grade {report.lab} {_what(report, given)} --seal mainline"


def _seals(lab: Lab, report: Report, attempts: Sequence[Attempt], earned: Collection[str]) -> dict[str, bool]:
    passed = set(earned)
    passed |= {attempt.seal for attempt in attempts if attempt.verdict is Verdict.PASS and attempt.counts}
    if report.verdict is Verdict.PASS and report.counts and not outline.public(report):
        passed.add(report.seal)
    names = ["patch", *(["mainline"] if lab.seals.mainline else []), "exam"]
    return {name: name in passed for name in names}
