"""The local hub: a bare repository whose proc-receive hook grades `git push hub HEAD:refs/for/lab/l05`."""

import contextlib
import json
import os
import shlex
import sys
import traceback
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, BinaryIO, TextIO

import git

from grading.course import trees
from grading.course.catalog import Course, CourseError, Lab
from grading.course.files import write_whole
from grading.course.paths import shown
from grading.course.submission import Refused, Submission, from_commit
from grading.delivery import plumbing, records
from grading.delivery.freshness import Mark, course_state
from grading.delivery.pktline import Answer, Command, Conversation
from grading.delivery.plumbing import ZERO, Tree
from grading.delivery.publish import Published, publish
from grading.delivery.records import Record
from grading.delivery.turns import turn
from grading.feedback.advice import Advice, Attempt, advise, topics
from grading.feedback.terminal import render_text
from grading.judge.grade import grade
from grading.judge.process import Judge
from grading.judge.report import Report
from grading.judge.spares import kind_of

CONFIG = "labs.json"
ERRORS = "labs-errors.log"
TRIES = 3
WIDTH = 88  # of a terminal with git's "remote: " in front: 96 columns
SETTINGS = {
    "receive.procReceiveRefs": ["refs"],  # every ref: what is no refs/for is refused by the hook
    "receive.advertisePushOptions": ["true"],
    "receive.maxInputSize": ["8m"],
    "receive.unpackLimit": ["1"],  # keep the pack as it came: unpacking would blow a bomb up into loose objects
    "core.bigFileThreshold": ["1m"],
    "core.hooksPath": ["hooks"],  # a pusher's own configuration often names another folder
    "transfer.fsckObjects": ["true"],
    "transfer.hideRefs": ["refs/attempts", "refs/publish"],
}
Take = Callable[[str], Judge | None]


class HubError(Exception):
    """The folder is no hub, or its course is gone; the message is one line that says what to do."""


@dataclass(frozen=True)
class Hub:
    repo: git.Repo
    course: Course
    jailed: bool
    engine: str
    say: Callable[[str], None]
    read: frozenset[Mark]  # the state that the course was in when its reading began
    take: Take = lambda kind: None


def init(hub: Path, course_root: Path, jailed: bool = True, engine: str = "", spares: bool = True) -> list[Published]:
    """Make (or bring up to date) a hub: lab branches, hook and settings; nothing else of the course goes in.

    `spares`: a push starts the server that keeps judges ready for the next.
    """
    course = Course.load(course_root)
    repo = git.Repo.init(hub, bare=True)
    for name, (first, *more) in SETTINGS.items():
        repo.git.config("--replace-all", name, first)
        for value in more:
            repo.git.config("--add", name, value)
    published = publish(course, course.labs, hub, engine)
    repo.git.symbolic_ref("HEAD", f"refs/heads/{course.labs[0].branch}")
    write_whole(hub / CONFIG, json.dumps({"course": str(course_root.resolve()), "jailed": jailed, "engine": engine}))
    write_whole(hub / "hooks" / "proc-receive", _hook(spares), mode=0o755)
    return published


def open_hub(hub: Path, say: Callable[[str], None] = lambda line: None) -> Hub:
    """The hub in the folder `hub` with its course; HubError when it has none."""
    try:
        settings = json.loads((hub / CONFIG).read_text())
        read = course_state(Path(settings["course"]))
        course = Course.load(Path(settings["course"]))
        return Hub(git.Repo(hub), course, settings["jailed"], settings["engine"], say, read)
    except (OSError, ValueError, KeyError, CourseError, git.GitError) as error:
        raise HubError(f"{hub} is no working hub ({error}): run `labs hub init {hub} --course PATH`") from None


def receive(hub: Path, source: BinaryIO, sink: BinaryIO, stderr: TextIO, take: Take = lambda kind: None) -> None:
    """The proc-receive hook: answer each command of one push for itself; `stderr` is what the learner sees.

    `take` is asked for a spare of the kind that a grading needs; whoever gives one closes it.
    """
    talk = Conversation(source, sink)
    commands = talk.commands()

    def say(line: str) -> None:
        print(line, file=stderr, flush=True)

    try:
        desk = replace(open_hub(hub, say), take=take)
        answers = [_answer(desk, command, talk.options) for command in commands]
    except HubError as error:
        answers = [Answer(command, reason=str(error)) for command in commands]
    talk.reply(answers)


def _answer(hub: Hub, command: Command, options: dict[str, str]) -> Answer:
    reason, lab = _broken(hub, command)
    if lab is None:
        return Answer(command, reason=reason)
    user = records.user_of(hub.repo, command.new, options.get("user", ""))
    try:
        known = records.find(hub.repo, command.new, lab.id, user)
        result = known or _graded(hub, lab, command.new, user)
    except HubError as error:
        return Answer(command, reason=f"{error}; nothing was counted: push again")
    except Exception as error:  # whatever it was, it is ours: the learner's push says so and counts nothing
        with contextlib.suppress(OSError), (Path(hub.repo.git_dir) / ERRORS).open("a") as log:
            traceback.print_exc(file=log)
        return Answer(command, reason=f"the hub failed ({type(error).__name__}), nothing was counted: push again")
    if known:
        hub.say(f"{command.new[:7]} was graded on {known.when}; this push counts no attempt\n{known.text}")
    return Answer(command, shown_as=result.attempt_ref)


def _broken(hub: Hub, command: Command) -> tuple[str, Lab | None]:
    """Why a command cannot be graded, or the lab that it is for."""
    if not command.ref.startswith("refs/for/"):
        return "answers are pushed to refs/for/lab/lNN, nothing else", None
    lab_id = command.ref.removeprefix("refs/for/lab/")
    lab = next((lab for lab in hub.course.labs if lab.id == lab_id), None)
    if lab is None:
        return f"no such lab: {shown(lab_id[:40])}", None
    if command.new == ZERO:
        return "there is nothing to delete: a push here grades a commit", None
    if not plumbing.is_commit(hub.repo, command.new):
        return "not a commit: push a branch", None
    return "", lab


def _graded(hub: Hub, lab: Lab, commit: str, user: str) -> Record:
    """Grade and remember, by one state of the course: what is edited meanwhile has it read anew and graded again."""
    hub.say(f"grading {lab.branch} at {commit[:7]} …")
    for _ in range(TRIES):
        report, advice = _judged(hub, lab, commit, user)
        if not _edited(hub, lab):
            break
        hub.say("the course has changed meanwhile: once more, as it is now")
        hub = replace(open_hub(Path(hub.repo.git_dir), hub.say), take=hub.take)
        lab = hub.course.lab(lab.id)
    else:
        raise HubError("the course is being edited")
    text = render_text(report, advice, width=WIDTH)
    hub.say(text)
    return records.save(hub.repo, records.record(lab.id, user, commit, report, advice, text))


def _judged(hub: Hub, lab: Lab, commit: str, user: str) -> tuple[Report, Advice]:
    starter = trees.starter_tree(hub.course, lab, hub.engine)
    answer = _submission(hub, lab, commit, starter)
    with turn(Path(hub.repo.git_dir), hub.say):
        spare = hub.take(kind_of(lab))
        how = {"jailed": hub.jailed, "on_event": _progress(hub.say), "judge": spare, "starter": starter}
        report = grade(hub.course, lab, answer, **how)
    report = records.public(report.model_copy(update={"commit": commit}), starter)
    counted = report.verdict in records.COUNTED
    before = [attempt_of(one) for one in records.attempts(hub.repo, lab.id, user)]
    return report, advise(hub.course, lab, report, before if counted else None)


def _edited(hub: Hub, lab: Lab) -> bool:
    """Is a file of the course that this lab is graded by other than when the course was read?"""
    parted = {Path(name) for name, *_ in hub.read ^ course_state(hub.course.root)}
    others = [other.folder for other in hub.course.labs if other.id != lab.id]
    return any(path.name == "lab.yaml" or not set(path.parents) & set(others) for path in parted)


def _submission(hub: Hub, lab: Lab, commit: str, starter: Tree) -> Submission | Refused:
    try:
        return from_commit(Path(hub.repo.git_dir), commit, lab, starter, f"refs/heads/{lab.branch}")
    except Refused as refused:
        return refused


def _progress(say: Callable[[str], None]) -> Callable[[dict[str, Any]], None]:
    def on_event(event: dict[str, Any]) -> None:
        if event["event"] == "test":
            line = f"  {event['index']:>2}/{event['of']} {event['outcome']:<8} {event['sentence'] or event['id']}"
            say(line if len(line) <= WIDTH else f"{line[: WIDTH - 2]} …")
        elif event["event"] == "again":
            say("  out of time: once more, with no other grading beside it")

    return on_event


def attempt_of(one: Record) -> Attempt:
    """A record as feedback counts it."""
    report = Report.model_validate(one.report)
    return Attempt(
        n=one.attempt or 0,
        user=one.user,
        commit=one.commit,
        verdict=report.verdict,
        topics=topics(report),
        when=one.when,
        seal=report.seal,
        counts=report.counts,
    )


def attempts(hub: Path, lab: str, user: str) -> list[Attempt]:
    """The counted attempts of one learner in one lab, oldest first."""
    return [attempt_of(one) for one in records.attempts(git.Repo(hub), lab, user)]


def log(hub: Path) -> list[Record]:
    """Every grading that the hub remembers, oldest first."""
    return records.everything(open_hub(hub).repo)


def _hook(spares: bool) -> str:
    """What the pusher runs from (folder, variables) must not reach the grader: -I and an empty environment."""
    python, path = shlex.quote(sys.executable), shlex.quote(os.environ.get("PATH", os.defpath))
    return f"""#!/bin/sh
exec env -i PATH={path} HOME="$HOME" LANG=C.UTF-8 {python} -I -m grading.delivery.hook "$PWD"{"" if spares else " cold"}
"""
