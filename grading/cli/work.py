"""Do a lab: start, test, hint, submit, solution, exam."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

from grading.cli.common import (
    CourseOption,
    HereArgument,
    JsonOption,
    LabArgument,
    course_here,
    lab_of,
    show,
    show_json,
    show_report,
)

SeedOption = Annotated[int | None, typer.Option("--seed", help="Repeat the inputs of an earlier run.")]


def add_to(app: typer.Typer) -> None:
    for command in (start, hint, submit, solution, exam, graft):
        app.command()(command)
    app.command("test")(run_tests)


def start(
    lab: LabArgument,
    folder: Annotated[Path | None, typer.Argument(metavar="[DIR]", help="Default: a folder beside the clone.")] = None,
    course: CourseOption = None,
) -> None:
    """A work tree of the lab on a branch of your own, and where to push it. Example: labs start l05 ../l05"""
    from grading.delivery import clone
    from grading.sandbox import doctor, jail

    found = course_here(course)
    started = clone.start(clone.open_clone(Path.cwd()), found, found.lab(lab), folder, jail.status().ok)
    show(f"{'made' if started.fresh else 'already there:'} {started.folder}, branch {started.branch}")
    for check in doctor.run_checks(found):
        if check.held is False:
            show(f"This machine: {check.name}: {check.detail}. {check.fix}")
    show(f"Next: cd {started.folder}; read README.md; labs test; git commit; labs submit")


def run_tests(
    lab: HereArgument = None,
    select: Annotated[str | None, typer.Option("-k", metavar="WORDS", help="Only tests whose names match.")] = None,
    seed: SeedOption = None,
    course: CourseOption = None,
    as_json: JsonOption = False,
) -> None:
    """Run the public tests on this work tree. Example: labs test -k bias"""
    from grading.delivery import practice
    from grading.delivery.clone import open_clone

    found = course_here(course)
    report, advice = practice.run_public(open_clone(Path.cwd()), found, lab_of(found, lab), select, seed)
    if report.jail == "none" and not as_json:
        show("No jail on this machine: your code runs as it is, and only a hub's or GitHub's verdict counts.")
    show_report(report, advice, as_json)


def hint(
    topic: Annotated[str | None, typer.Argument(metavar="[TOPIC]", help="Default: that of the last failure.")] = None,
    lab: Annotated[str | None, typer.Option("--lab", metavar="LAB", help="Default: the lab of this work tree.")] = None,
    course: CourseOption = None,
    as_json: JsonOption = False,
) -> None:
    """The next hint on a topic, counted. Example: labs hint adjoint"""
    from grading.delivery import practice
    from grading.delivery.clone import open_clone

    found = course_here(course)
    given = practice.next_hint(open_clone(Path.cwd()), lab_of(found, lab), topic)
    if as_json:
        return show_json(given.model_dump(mode="json"))
    show(f"Hint {given.level} of {given.of} on {given.topic}: {given.text}")


def submit(
    lab: HereArgument = None,
    course: CourseOption = None,
    as_json: JsonOption = False,
) -> None:
    """Push your commit to be graded and read the verdict as it comes. Example: labs submit"""
    from grading.delivery.clone import open_clone
    from grading.delivery.submit import submit as send

    found = course_here(course)
    sent = send(open_clone(Path.cwd()), found, lab_of(found, lab), _quiet if as_json else print)
    if sent.link:
        show_json({"pull_request": sent.link}) if as_json else show(f"Open the pull request: {sent.link}")
        return
    if as_json:
        show_json({"report": sent.record.report, "advice": sent.record.advice, "attempt": sent.record.attempt})
    raise typer.Exit(sent.exit_code)


def solution(
    lab: HereArgument = None,
    anyway: Annotated[bool, typer.Option("--anyway", help="Before it is earned. This is recorded.")] = False,
    course: CourseOption = None,
) -> None:
    """The reference's diff, after a PASS or enough attempts. Example: labs solution l05"""
    from grading.delivery import practice
    from grading.delivery.clone import open_clone

    found = course_here(course)
    print(practice.solution(open_clone(Path.cwd()), found, lab_of(found, lab), anyway), end="")


def graft(
    lab: HereArgument = None,
    impl: Annotated[str | None, typer.Option("--impl", help="reference or mistake:NAME instead of your work.")] = None,
    course: CourseOption = None,
) -> None:
    """Your patch as a diff for upstream's own files. Example: labs graft l29 > mainline.patch"""
    from grading.course.grafting import grafts
    from grading.delivery import answers
    from grading.delivery.clone import open_clone, work_folder

    found = course_here(course)
    one = lab_of(found, lab)
    folder = None if impl else work_folder(open_clone(Path.cwd()))
    answer = answers.answer(found, one, repo=None, commit=None, worktree=folder, impl=impl)
    if isinstance(answer, Exception):
        print(f"labs: {answer}", file=sys.stderr)
        raise typer.Exit(2)
    made = grafts(found, one, answer.blobs)
    for part in made:
        print(part.diff(), end="")
        for misfit in part.misfits:
            print(f"labs: {part.path}: {misfit}", file=sys.stderr)
    raise typer.Exit(1 if any(part.misfits for part in made) or not made else 0)


def exam(
    lab: HereArgument = None,
    answers: Annotated[bool, typer.Option("--answers", help="With what to look for: for the examiner.")] = False,
    record: Annotated[Path | None, typer.Option("--record", metavar="FILE", help="Keep a filled-in form.")] = None,
    course: CourseOption = None,
) -> None:
    """The oral exam as a script for an examiner or an AI tutor. Example: labs exam l05 > exam.md"""
    from grading.delivery import oral
    from grading.delivery.clone import open_clone

    found = course_here(course)
    one, repo = lab_of(found, lab), open_clone(Path.cwd())
    if record:
        passed = oral.keep(repo, one, record)
        show(f"{one.id}: the exam is recorded as {'passed' if passed else 'not passed yet'}.")
    else:
        print(oral.script(repo, found, one, answers), end="")


def _quiet(line: str) -> None:
    """With --json nothing but JSON is printed."""
