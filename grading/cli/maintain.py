"""For authors and maintainers: grade, check, publish."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from grading.cli.common import CourseOption, JsonOption, LabArgument, course_here, show, show_json, show_report

if TYPE_CHECKING:
    from grading.delivery.publish import Published

LabsArgument = Annotated[list[str] | None, typer.Argument(metavar="[LAB]...", help="Default: all.")]


def add_to(app: typer.Typer) -> None:
    for command in (grade, check, publish):
        app.command()(command)


def grade(
    lab: LabArgument,
    repo: Annotated[Path | None, typer.Option("--repo", help="The repository of --commit.")] = None,
    commit: Annotated[str | None, typer.Option("--commit", metavar="SHA")] = None,
    worktree: Annotated[Path | None, typer.Option("--worktree", metavar="DIR", help="A folder as it lies.")] = None,
    impl: Annotated[str | None, typer.Option("--impl", help="reference, starter or mistake:NAME")] = None,
    seed: Annotated[int | None, typer.Option("--seed", help="Repeat an earlier grading.")] = None,
    no_jail: Annotated[bool, typer.Option("--no-jail", help="Run here as it is; does not count.")] = False,
    file: Annotated[Path | None, typer.Option("--json", metavar="FILE", help="Write the report; - is stdout.")] = None,
    course: CourseOption = None,
) -> None:
    """One grading with the hidden tests. Example: labs grade l05 --impl reference --seed 7"""
    from grading.delivery.answers import answer
    from grading.feedback.advice import advise
    from grading.judge import grade as judge

    found = course_here(course)
    one = found.lab(lab)
    given = answer(found, one, repo=repo, commit=commit, worktree=worktree, impl=impl)
    report = judge.grade(found, one, given, seed=seed, jailed=not no_jail)
    if file and str(file) != "-":
        file.write_text(report.model_dump_json(indent=1) + "\n", encoding="utf-8")
    show_report(report, advise(found, one, report, None), as_json=str(file) == "-")


def check(
    labs: LabsArgument = None,
    write: Annotated[bool, typer.Option("--write", help="Write fingerprints.json.")] = False,
    no_jail: Annotated[bool, typer.Option("--no-jail", help="Run here as it is.")] = False,
    course: CourseOption = None,
    as_json: JsonOption = False,
) -> None:
    """The author gate: is this lab any good? Example: labs check l05 --write"""
    from grading.authoring import gate

    found = course_here(course)
    wanted = [found.lab(name) for name in labs or found.order]
    checked = [gate.check(found, lab, write=write, jailed=not no_jail, say=_progress) for lab in wanted]
    if as_json:
        show_json([one.as_json() for one in checked])
    else:
        show(_gate_table(checked))
    raise typer.Exit(0 if all(one.good for one in checked) else 1)


def _progress(line: str) -> None:
    if sys.stderr.isatty():
        print(f"\r\033[K{line}", end="", file=sys.stderr, flush=True)


def publish(
    labs: LabsArgument = None,
    to: Annotated[str, typer.Option("--to", metavar="REPO", help="A bare repository, a remote or a URL.")] = "origin",
    engine: Annotated[str, typer.Option("--engine", help="Where pip gets the engine for a lab branch.")] = "",
    course: CourseOption = None,
    as_json: JsonOption = False,
) -> None:
    """Write the lab branches, append-only. Example: labs publish l05 --to ../hub.git"""
    from grading.delivery.publish import publish_to

    found = course_here(course)
    wanted = [found.lab(name) for name in labs or found.order]
    published = publish_to(found, wanted, to, Path.cwd(), engine)
    show_json([vars(one) for one in published]) if as_json else show(published_table(published))


def published_table(published: list[Published]) -> object:
    from rich.table import Table

    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0))
    for name in ("branch", "", "commit", "shows the reference of"):
        table.add_column(name, no_wrap=name != "shows the reference of")
    for one in published:
        what = "unchanged" if not one.changed else "updated" if one.old else "new"
        table.add_row(one.branch, what, one.new[:10], ", ".join(one.shows) or "nothing")
    return table


def _gate_table(checked: list) -> object:
    from rich.table import Table
    from rich.text import Text

    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), show_header=False)
    for one in checked:
        table.add_row(Text("✓", "green") if one.good else Text("✗", "red"), one.lab, one.summary)
        for miss in one.misses:
            table.add_row("", "", Text(miss, "red"))
    return table
