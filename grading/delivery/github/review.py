"""`labs github review`: a parcel in; check run, sticky comment, labels and step summary out. Runs no learner's code.

Safe to run twice, late, or beside another: the check run belongs to its commit, and the comment always ends up as
that of the newest commit, since whoever wrote it last looks again at the head of the pull request.
"""

from dataclasses import dataclass, field

from grading.course.catalog import Course, Lab
from grading.delivery import local, records
from grading.delivery.github import memory as memories
from grading.delivery.github import workflow
from grading.delivery.github.annotations import annotations
from grading.delivery.github.event import Pull
from grading.delivery.github.forge import Forge, ForgeError, Note
from grading.delivery.github.memory import Memory
from grading.delivery.github.parcel import Parcel
from grading.feedback.advice import Advice, Attempt, advise, topics
from grading.feedback.comment import MARKER, SIGNS, render_comment
from grading.feedback.outline import headline
from grading.judge.report import Report, Verdict

CONCLUSIONS = {"PASS": "success", "FAIL": "failure", "TIMEOUT": "timed_out", "INFRA": "neutral"}
ROUNDS = 5
LOOK_BACK = 30  # commits that memory is rebuilt from
NO_COMMENT = (403, 404, 410, 422)  # locked, gone, limited


@dataclass
class Reviewed:
    """What was done, for the log: `stale` when the head had moved, `warnings` for what GitHub did not take."""

    stale: bool = False
    verdict: str = ""
    warnings: list[str] = field(default_factory=list)


def check_name(lab: Lab) -> str:
    return f"labs / {lab.id} verdict"


def gpu(course: Course, lab: Lab, forge: Forge, pull: Pull, parcel: Parcel) -> Reviewed:
    """Post what the GPU tests say, as a check run of their own. Comment, labels and attempts are not theirs."""
    if pull.state != "open" or pull.head.sha != parcel.head:
        return Reviewed(stale=True)
    report = parcel.report
    body = render_comment(report, advise(course, lab, report, None))
    forge.write_check(pull.head.sha, f"labs / {lab.id} gpu", *_says(report), body, "", _places(forge, pull, report))
    workflow.summary(body)
    return Reviewed(verdict=report.verdict.value)


def review(course: Course, lab: Lab, forge: Forge, pull: Pull, parcel: Parcel) -> Reviewed:
    """Post a verdict. `pull` is as the API tells it now."""
    if pull.state != "open" or pull.head.sha != parcel.head:
        return Reviewed(stale=True)
    report = parcel.report
    memory = recall(forge, lab, pull)
    counted = report.verdict in records.COUNTED
    advice = _advice(course, lab, parcel, memory, counted)
    if counted:
        memory = memory.with_attempt(_attempt(report, pull, memory)).model_copy(update={"head": parcel.head})
    body = f"{render_comment(report, advice)}\n{memory.block()}"
    _check(forge, lab, pull, report, body, memory)
    done = Reviewed(verdict=report.verdict.value)
    if not (report.verdict is Verdict.INFRA and memory.head):
        _settle(forge, lab, pull.number, parcel.head, body, done)
    _labels(forge, lab, pull.number, report, advice, done)
    workflow.summary(body)
    return done


def infra(lab: Lab, forge: Forge, pull: Pull, reason: str) -> Reviewed:
    """Say that the grader failed, on the commit alone: no verdict that stands is replaced, no attempt is counted."""
    if pull.state != "open":
        return Reviewed(stale=True)
    says = (
        f"The grader failed ({reason}): our fault, not yours. No attempt is counted. Comment `/regrade` to try again."
    )
    text = recall(forge, lab, pull).block()
    forge.write_check(pull.head.sha, check_name(lab), "neutral", f"{SIGNS['INFRA']} INFRA", says, text, [])
    workflow.summary(says)
    return Reviewed(verdict="INFRA")


def recall(forge: Forge, lab: Lab, pull: Pull) -> Memory:
    """The memory in the bot's comment, else in the newest check run that has one, else a new one."""
    if there := sticky(forge, pull.number):
        return there[1]
    for sha in reversed(forge.commits(pull.number)[-LOOK_BACK:]):
        check = forge.check(sha, check_name(lab))
        if check and (found := memories.parse(check.text)):
            return found
    return Memory(lab=lab.id)


def sticky(forge: Forge, number: int) -> tuple[Note, Memory] | None:
    """The bot's comment that holds the memory, and the memory."""
    for note in forge.notes(number):
        if note.mine and note.body.startswith(MARKER) and (found := memories.parse(note.body)):
            return note, found
    return None


def _advice(course: Course, lab: Lab, parcel: Parcel, memory: Memory, counted: bool) -> Advice:
    """From the course that is here; a sealed one, whose mistakes are elsewhere, takes the parcel's diagnosis."""
    before = memory.before(parcel.head) if counted else None
    advice = advise(course, lab, parcel.report, before, memory.hints)
    seals = advice.seals | ({"exam": True} if memory.exam and memory.exam.passed else {})
    diagnosis = parcel.diagnosis if course.mode == "sealed" else advice.diagnosis
    return advice.model_copy(update={"diagnosis": diagnosis, "seals": seals})


def _attempt(report: Report, pull: Pull, memory: Memory) -> Attempt:
    return Attempt(
        n=memory.tries + 1,
        user=str(pull.user.id),
        commit=report.commit or "",
        verdict=report.verdict,
        topics=topics(report),
        when=local.now(),
        seal=report.seal,
        counts=report.counts,
    )


def _check(forge: Forge, lab: Lab, pull: Pull, report: Report, body: str, memory: Memory) -> None:
    """The check run of the commit; its summary is the whole comment, so that another run can put it back."""
    places = _places(forge, pull, report)
    forge.write_check(pull.head.sha, check_name(lab), *_says(report), body, memory.block(), places)


def _says(report: Report) -> tuple[str, str]:
    """A check run's conclusion and title."""
    title = f"{SIGNS[report.verdict]} {report.verdict}: {headline(report)}"
    return CONCLUSIONS.get(report.verdict, "failure"), title


def _places(forge: Forge, pull: Pull, report: Report) -> list[dict]:
    return annotations(report, forge.lines(pull.number)) if report.verdict is not Verdict.PASS else []


def _settle(forge: Forge, lab: Lab, number: int, head: str, body: str, done: Reviewed) -> None:
    """Write the comment, then look whether the head moved meanwhile; if it did, its own verdict belongs there."""
    for _ in range(ROUNDS):
        try:
            forge.write_note(number, body, MARKER)
        except ForgeError as error:
            if error.status not in NO_COMMENT:
                raise
            done.warnings.append(f"no comment could be written ({error}); the verdict is in the check run")
            return
        now = forge.pull(number).head.sha
        newer = forge.check(now, check_name(lab)) if now != head else None
        if newer is None or MARKER not in newer.summary:
            return
        head, body = now, newer.summary


def _labels(forge: Forge, lab: Lab, number: int, report: Report, advice: Advice, done: Reviewed) -> None:
    """One label for the lab, one for the verdict, one a seal; whatever else stands there is left alone."""
    earned = {f"seal: {name}" for name, has in advice.seals.items() if has}
    wanted = {f"lab: {lab.id}", f"verdict: {report.verdict.lower()}", *earned}
    if report.verdict is Verdict.INFRA:
        wanted = {f"lab: {lab.id}"}
    try:
        there = forge.labels(number)
        old = {name for name in there if name.startswith("verdict: ")} if report.verdict is not Verdict.INFRA else set()
        forge.relabel(number, add=wanted - there, drop=old - wanted)
    except ForgeError as error:
        done.warnings.append(f"labels were not set ({error})")
