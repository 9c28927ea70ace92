"""`labs github chatops`: one comment that is a command, answered once.

Who may is decided by ids and by what GitHub says about write access, never by what the payload's text claims; the
association only refuses early. Attempts, seals and hints come from the bot's own memory of the pull request.
"""

import contextlib
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta

from grading.course import snapshots
from grading.course.catalog import Course, Lab
from grading.delivery import practice
from grading.delivery.github import memory as memories
from grading.delivery.github.commands import HELP, Asked, UsageError, parse
from grading.delivery.github.event import CommentEvent, Pull
from grading.delivery.github.forge import BOT, Forge, ForgeError
from grading.delivery.github.memory import Memory, Outcome
from grading.delivery.github.review import recall, sticky
from grading.feedback import exam, hints
from grading.feedback.comment import MARKER, with_seal
from grading.feedback.escape import clip, fence, inline

STRANGERS = {"NONE", "FIRST_TIMER", "FIRST_TIME_CONTRIBUTOR", "MANNEQUIN"}
COOL_DOWN = timedelta(minutes=5)


class Denied(Exception):
    """The command is understood and not carried out; the message is one line of Markdown."""


@dataclass(frozen=True)
class Outcomes:
    """What became of a comment. `regrade` is the pull request that a job with other rights has to start again."""

    reaction: str = ""
    reply: str = ""
    regrade: int | None = None


@dataclass(frozen=True)
class Desk:
    """One command's surroundings."""

    course: Course
    lab: Lab
    forge: Forge
    pull: Pull
    event: CommentEvent
    memory: Memory
    now: datetime

    @property
    def by_author(self) -> bool:
        return self.event.comment.user.id == self.pull.user.id

    def by_maintainer(self) -> bool:
        comment = self.event.comment
        return comment.author_association not in STRANGERS and self.forge.may_write(comment.user.login)

    @property
    def stamp(self) -> str:
        return self.now.strftime("%Y-%m-%dT%H:%M:%SZ")


def answer(course: Course, forge: Forge, event: CommentEvent, now: datetime | None = None) -> Outcomes:
    """Carry out the command in a comment and reply to it; the same comment twice is answered once."""
    if event.action != "created" or event.issue.pull_request is None or event.comment.user.id == BOT:
        return Outcomes()
    try:
        asked = parse(event.comment.body)
        if asked is None:
            return Outcomes()
        done = _carry_out(_desk(course, forge, event, now or datetime.now(UTC)), asked)
    except (UsageError, Denied) as error:
        done = Outcomes("confused" if isinstance(error, UsageError) else "-1", str(error))
    number, comment = event.issue.number, event.comment.id
    if done.reply:
        marker = f"<!-- labs:reply {comment} -->"
        forge.write_note(number, f"{marker}\n{done.reply}", marker)
    forge.react(number, comment, done.reaction)
    return done


def _desk(course: Course, forge: Forge, event: CommentEvent, now: datetime) -> Desk:
    pull = forge.pull(event.issue.number)
    lab = next((lab for lab in course.labs if lab.id == pull.lab_id), None)
    if lab is None:
        raise Denied("This pull request is for no lab of this course.")
    desk = Desk(course, lab, forge, pull, event, Memory(lab=lab.id), now)
    if not desk.by_author and not desk.by_maintainer():
        raise Denied("Only the author of this pull request and maintainers can ask for that.")
    if pull.state != "open":
        raise Denied("This pull request is closed: reopen it first.")
    return replace(desk, memory=recall(forge, lab, pull))


def _carry_out(desk: Desk, asked: Asked) -> Outcomes:
    if asked.name == "exam":
        return _exam_start(desk) if asked.step == "start" else _exam_end(desk, asked)
    return {"hint": _hint, "solution": _solution, "regrade": _regrade, "help": _help}[asked.name](desk, asked)


def _help(desk: Desk, asked: Asked) -> Outcomes:
    return Outcomes("+1", HELP)


def _hint(desk: Desk, asked: Asked) -> Outcomes:
    """One level more than was earned or asked for so far."""
    known = hints.load(desk.lab)
    topic = asked.text or next((one.topics[0] for one in reversed(desk.memory.attempts) if one.topics), "")
    if topic not in known:
        raise Denied(
            f"Which topic? {desk.lab.id} has hints on {', '.join(f'`{name}`' for name in known) or 'nothing'}."
        )
    failing = sum(topic in one.topics for one in desk.memory.attempts)
    level = 1 + hints.level(failing, desk.course.hint_after, desk.memory.hints.get(topic, 0))
    given = hints.give(known, topic, level)
    _remember(desk, hints=desk.memory.hints | {topic: given.level})
    return Outcomes("+1", f"**Hint {given.level} of {given.of}** ({topic})\n\n{given.text}")


def _solution(desk: Desk, asked: Asked) -> Outcomes:
    left = desk.course.solution_after - desk.memory.tries
    if not desk.memory.passed() and left > 0:
        raise Denied(f"After a PASS or {left} more attempt{'s' * (left != 1)}.")
    if not (desk.course.root / "mini_infra").is_dir():
        return Outcomes("+1", f"The reference is the tag `ref/{desk.lab.id}/v1`, once it is released.")
    _remember(desk, solution=desk.memory.solution or desk.stamp)
    diff = fence(practice.reference_diff(desk.course, desk.lab), 50_000, "diff")
    return Outcomes("+1", f"<details><summary>The reference of {desk.lab.id}</summary>\n\n{diff}\n\n</details>")


def _regrade(desk: Desk, asked: Asked) -> Outcomes:
    """Only says that a run is due: the job that may start one does nothing else."""
    last = desk.memory.regraded
    if last and desk.now - datetime.fromisoformat(last) < COOL_DOWN:
        raise Denied("A run was asked for less than five minutes ago: its verdict will come.")
    with contextlib.suppress(Denied):  # no verdict yet, so no place to remember it in
        _remember(desk, regraded=desk.stamp)
    return Outcomes("rocket", regrade=desk.pull.number)


def _exam_start(desk: Desk) -> Outcomes:
    _has_passed(desk)
    drawn = exam.draw(exam.load(desk.lab), desk.pull.head.sha)
    return Outcomes("+1", exam.sheet(desk.lab, drawn, False, snapshots.load(desk.course.root)))


def _exam_end(desk: Desk, asked: Asked) -> Outcomes:
    """Recorded on the commit and in the comment. Nothing is merged: a reference comes from `labs release` alone."""
    if desk.by_author or not desk.by_maintainer():
        raise Denied("An exam is recorded by a maintainer who is not its author.")
    _has_passed(desk)
    passed, examiner = asked.step == "pass", desk.event.comment.user.login
    sha = desk.pull.head.sha
    _remember(desk, exam=Outcome(passed=passed, examiner=examiner, when=desk.stamp, commit=sha, note=asked.text))
    says = f"{'Passed' if passed else 'Not passed yet'}: {inline(examiner)}, {desk.stamp[:10]}, commit `{sha[:10]}`"
    says += f". {inline(asked.text)}" if asked.text else ""
    title = f"oral exam {'passed' if passed else 'not passed yet'}"
    conclusion = "success" if passed else "neutral"
    desk.forge.write_check(sha, f"labs / {desk.lab.id} exam", conclusion, title, says, "", [])
    if passed:
        _label(desk)
    return Outcomes("hooray" if passed else "+1", f"**Oral exam**: {says}")


def _label(desk: Desk) -> None:
    try:
        desk.forge.relabel(desk.pull.number, add={"seal: exam"}, drop=set())
    except ForgeError as error:
        print(f"::warning::the label was not set: {clip(str(error), 200)}")


def _has_passed(desk: Desk) -> None:
    if not desk.memory.passed(commit=desk.pull.head.sha):
        raise Denied("The oral exam is about a patch that passed: this commit has no PASS.")


def _remember(desk: Desk, **changes) -> None:
    """Write the memory back into the bot's comment, the rest of which stays as it is."""
    there = sticky(desk.forge, desk.pull.number)
    if there is None:
        raise Denied("There is no verdict here yet: push a commit first, or ask for `/regrade`.")
    memory = desk.memory.model_copy(update=changes)
    body = memories.BLOCK.sub(lambda found: memory.block(), there[0].body)
    if memory.exam and memory.exam.passed:
        body = with_seal(body, "exam")
    desk.forge.write_note(desk.pull.number, body, MARKER)
