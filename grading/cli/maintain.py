"""For authors and maintainers: grade, publish, release."""

from __future__ import annotations

import json
import os
import shlex
import sys
from collections.abc import Iterator
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from grading.cli.common import CourseOption, JsonOption, course_here, show, show_json, show_report

if TYPE_CHECKING:
    from grading.course.catalog import Lab
    from grading.delivery.publish import Published
    from grading.judge.report import Report


class Seal(StrEnum):
    patch = "patch"
    mainline = "mainline"
    gpu = "gpu"


class Format(StrEnum):
    classroom = "classroom"
    classroom50 = "classroom50"


LabsArgument = Annotated[list[str] | None, typer.Argument(metavar="[LAB]...", help="Default: all.")]


def add_to(app: typer.Typer) -> None:
    for command in (grade, publish, release):
        app.command()(command)


def grade(
    lab: Annotated[str | None, typer.Argument(metavar="[LAB]", help="A lab's id; none with --all.")] = None,
    repo: Annotated[Path | None, typer.Option("--repo", help="The repository of --commit.")] = None,
    commit: Annotated[str | None, typer.Option("--commit", metavar="SHA")] = None,
    worktree: Annotated[Path | None, typer.Option("--worktree", metavar="DIR", help="A folder as it lies.")] = None,
    impl: Annotated[str | None, typer.Option("--impl", help="reference, starter or mistake:NAME")] = None,
    every: Annotated[bool, typer.Option("--all", help="Every lab: with --impl, else this work tree.")] = False,
    shard: Annotated[str, typer.Option("--shard", metavar="K/N", help="With --all: the K-th of N parts.")] = "1/1",
    at_once: Annotated[int, typer.Option("-n", min=1, help="With --all: so many at once.")] = 1,
    seed: Annotated[int | None, typer.Option("--seed", help="Repeat an earlier grading.")] = None,
    seal: Annotated[
        Seal, typer.Option("--seal", help="mainline: against upstream's own code; gpu: the tests marked so.")
    ] = Seal.patch,
    no_jail: Annotated[bool, typer.Option("--no-jail", help="Run here as it is; does not count.")] = False,
    file: Annotated[Path | None, typer.Option("--json", metavar="FILE", help="Write the report; - is stdout.")] = None,
    points: Annotated[Format | None, typer.Option("--format", help="Print points for such a classroom.")] = None,
    course: CourseOption = None,
) -> None:
    """One grading with the hidden tests, or all labs'. Example: labs grade l05 --impl reference --seed 7"""
    from grading.delivery import answers

    found = course_here(course)
    if every == bool(lab):
        raise typer.BadParameter("name one lab, or say --all")
    if points and (every or str(file) == "-"):
        raise typer.BadParameter("--format prints the points of one lab")
    if every:
        from grading.authoring.choice import share

        labs = share(answers.labs_with(found, str(seal)), shard)
        reports = _watched(answers.grade_all(found, labs, impl, seed, not no_jail, at_once, str(seal)), len(labs))
        _write_json(file, [report.model_dump(mode="json") for report in reports])
        if str(file) != "-":
            show(_verdicts(reports))
        raise typer.Exit(max((report.exit_code for report in reports), default=0))
    from grading.feedback.advice import advise

    one = found.lab(lab)
    answer = answers.answer(found, one, repo=repo, commit=commit, worktree=worktree, impl=impl)
    report = answers.grade(found, one, answer, seed=seed, jailed=not no_jail, seal=str(seal))
    earned = set() if impl else answers.keep_seal(repo or worktree or Path.cwd(), one, report)
    _write_json(file, report.model_dump(mode="json"))
    if points:
        raise typer.Exit(_print_points(points, one, report, repo or worktree or Path.cwd()))
    if str(file) == "-":
        raise typer.Exit(report.exit_code)
    given = _options(repo=repo, commit=commit, worktree=worktree, impl=impl)
    show_report(report, advise(found, one, report, None, given=given, earned=earned), as_json=False)


def _print_points(how: Format, lab: Lab, report: Report, place: Path) -> int:
    """What that classroom's reporter reads, on stdout: 0 once there is a verdict, whatever it says."""
    from grading.delivery.answers import when
    from grading.feedback import classroom, diagnose

    ids = diagnose.test_ids(lab) if report.seal == "patch" else []
    if how is Format.classroom:
        print(classroom.for_classroom(report, ids))
    elif lacking := classroom.lacking(os.environ):
        raise typer.BadParameter(f"Classroom 50's runner sets {', '.join(lacking)}: not set here")
    elif report.verdict == "INFRA":  # its runner makes an error of the exit code, and wants no result then
        print(f"labs: {report.reason}", file=sys.stderr)
    else:
        show_json(classroom.for_classroom50(report, ids, os.environ, when(place, report)))
    return report.exit_code if report.verdict == "INFRA" else 0


def _options(**named: object) -> str:
    """The options as they are typed."""
    return " ".join(f"--{name} {shlex.quote(str(value))}" for name, value in named.items() if value is not None)


def _write_json(file: Path | None, data: object) -> None:
    if str(file) == "-":
        show_json(data)
    elif file:
        from grading.course.files import write_whole

        write_whole(file, json.dumps(data, indent=1) + "\n")


def _watched(reports: Iterator[Report], of: int) -> list[Report]:
    """The reports in a list, with a bar on a terminal's stderr while they come."""
    from rich.console import Console
    from rich.progress import track

    console = Console(stderr=True)
    return list(track(reports, "grading", of, console=console, transient=True, disable=not console.is_terminal))


def _verdicts(reports: list[Report]) -> object:
    from rich.table import Table

    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0))
    for name, justify in [("lab", "left"), ("verdict", "left"), ("tests", "right"), ("s", "right"), ("", "left")]:
        table.add_column(name, justify=justify)
    for one in reports:
        tests = f"{one.passed_count}/{len(one.tests)}"
        table.add_row(one.lab, one.verdict, tests, f"{one.seconds:.1f}", one.reason or one.title)
    return table


def publish(
    labs: LabsArgument = None,
    to: Annotated[str, typer.Option("--to", metavar="REPO", help="A bare repository, a remote or a URL.")] = "origin",
    engine: Annotated[str, typer.Option("--engine", help="Where pip gets the engine for a lab branch.")] = "",
    without: Annotated[bool, typer.Option("--without-upstream", help="Leave upstream's files out.")] = False,
    course: CourseOption = None,
    as_json: JsonOption = False,
) -> None:
    """Write the lab branches, append-only. Example: labs publish l05 --to ../hub.git

    Of a sealed course --to names the public repository, and its main branch becomes the catalogue.
    """
    from grading.delivery.publish import publish_to

    found = course_here(course)
    wanted = [found.lab(name) for name in labs or found.order]
    published = publish_to(found, wanted, to, Path.cwd(), engine, "none" if without else "all")
    show_json([vars(one) for one in published]) if as_json else show(published_table(published))


def release(
    labs: Annotated[list[str], typer.Argument(metavar="LAB...", help="Ids of published labs.")],
    to: Annotated[str, typer.Option("--to", metavar="REPO", help="Where the branches are: as for publish.")] = "origin",
    notes: Annotated[str, typer.Option("--notes", metavar="TEXT", help="What the release says of itself.")] = "",
    course: CourseOption = None,
    as_json: JsonOption = False,
) -> None:
    """Show the reference to everybody, as the tag ref/LAB/vK. Example: labs release l05 --to ../hub.git"""
    from grading.delivery.release import release as release_to

    found = course_here(course)
    released = release_to(found, [found.lab(name) for name in labs], to, Path.cwd(), notes)
    if as_json:
        return show_json([vars(one) for one in released])
    for one in released:
        show(f"{one.tag} is {one.commit[:10]}{'' if one.changed else ', as before'}")


def published_table(published: list[Published]) -> object:
    from rich.table import Table

    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0))
    for name in ("branch", "", "commit", "shows of upstream", "shows the reference of"):
        table.add_column(name, no_wrap=not name.startswith("shows"))
    for one in published:
        what = "unchanged" if not one.changed else "updated" if one.old else "new"
        table.add_row(one.branch, what, one.new[:10], ", ".join(one.upstream), ", ".join(one.shows) or "nothing")
    return table
