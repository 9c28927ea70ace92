"""`labs check`: the author gate, its bar, its table, and the mutants that lived; `labs adopt`, which asks it."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from grading.cli.common import CourseOption, JsonOption, course_here, show, show_json

if TYPE_CHECKING:
    from grading.authoring.batch import Say
    from grading.authoring.gate import Checked
    from grading.course.catalog import Course, Lab

COLUMNS = ("", "lab", "tests", "mistakes", "mutants", "killed", "by time", "equivalent", "s")


def add_to(app: typer.Typer) -> None:
    app.command()(check)
    app.command()(new)
    app.command()(adopt)


def new(
    lab: Annotated[str, typer.Argument(metavar="LAB", help="Its id, such as l36.")],
    slug: Annotated[str, typer.Argument(metavar="SLUG", help="Its name in paths, such as policy_loss.")],
    hole: Annotated[list[str], typer.Option("--hole", metavar="PATH::NAME", help="A definition to write; repeatable.")],
    course: CourseOption = None,
) -> None:
    """The folder of a new lab. Example: labs new l36 policy_loss --hole mini_infra/a/b.py::compute"""
    from grading.authoring.new import new

    found = course_here(course)
    folder = new(found, lab, slug, hole)
    show(
        f"{folder.relative_to(found.root)} is there. Write what says TODO; `labs check {lab} --write` tells what lacks."
    )


def check(
    labs: Annotated[list[str] | None, typer.Argument(metavar="[LAB]...", help="Default: all.")] = None,
    write: Annotated[bool, typer.Option("--write", help="Write fingerprints.json.")] = False,
    changed: Annotated[bool, typer.Option("--changed", help="Only labs whose files differ from HEAD.")] = False,
    since: Annotated[str | None, typer.Option("--since", metavar="REV", help="Or from an older commit.")] = None,
    shard: Annotated[str, typer.Option("--shard", metavar="K/N", help="The K-th of N parts of the labs.")] = "1/1",
    mutants: Annotated[int | None, typer.Option("--mutants", min=0, help="So many a lab, drawn; default: all.")] = None,
    at_once: Annotated[int, typer.Option("-n", min=1, help="So many gradings at once.")] = 1,
    no_jail: Annotated[bool, typer.Option("--no-jail", help="Run here as it is.")] = False,
    course: CourseOption = None,
    as_json: JsonOption = False,
) -> None:
    """The author gate: is this lab any good? Example: labs check l05 --write"""
    from grading.authoring import gate
    from grading.judge.shared import Judges

    found = course_here(course)
    wanted = _wanted(found, labs, since or ("HEAD" if changed else None), shard)
    with _bar() as say, Judges(not no_jail, at_once) as judges:
        checked = [gate.check(found, lab, judges, write=write, mutants=mutants, say=say) for lab in wanted]
    if as_json:
        show_json([one.as_json() for one in checked])
    elif not checked:
        show("No lab to check.")
    else:
        _show_all(checked)
    raise typer.Exit(0 if all(one.good for one in checked) else 1)


def adopt(
    commit: Annotated[str, typer.Argument(metavar="TAG_OR_COMMIT", help="Of this repository, on a lab's branch.")],
    at_once: Annotated[int, typer.Option("-n", min=1, help="So many gradings at once.")] = 1,
    course: CourseOption = None,
) -> None:
    """Carry the patch of a commit that passes into main's mini_infra. Example: labs adopt ref/l05/v1"""
    from grading.authoring.adopt import adopt as carry
    from grading.delivery.clone import open_clone

    found = course_here(course)
    with _bar() as say:
        done = carry(open_clone(Path.cwd()), found, commit, at_once=at_once, say=say)
    if done.commit is None:
        return show(f"{done.lab}: mini_infra has this patch already.")
    by = f", with {', '.join(done.authors)}" if done.authors else ""
    show(f"{done.lab}: {done.commit[:10]} changes {', '.join(done.paths)}{by}.")


def _wanted(course: Course, names: list[str] | None, since: str | None, shard: str) -> list[Lab]:
    from grading.authoring.choice import changed_labs, changed_paths, share

    labs = [course.lab(name) for name in names or course.order]
    if since:
        labs = changed_labs(course, labs, changed_paths(Path(course.root), since))
    return share(labs, shard)


@contextlib.contextmanager
def _bar() -> Iterator[Say]:
    """On a terminal's stderr a bar for what is being done: gradings, then mutants, of one lab after another."""
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

    console = Console(stderr=True)
    columns = [TextColumn("{task.description}"), BarColumn(24), MofNCompleteColumn(), TimeElapsedColumn()]
    columns.append(TextColumn("{task.fields[what]}", markup=False))
    with Progress(*columns, console=console, transient=True, disable=not console.is_terminal) as progress:
        tasks: dict[str, int] = {}

        def say(phase: str, what: str, done: int, of: int) -> None:
            if phase not in tasks:
                tasks[phase] = progress.add_task(phase, total=of, what="")
            progress.update(tasks[phase], completed=done, what=what[:40])

        yield say


def _show_all(checked: list[Checked]) -> None:
    """The table, then what is missing, then the mutants that lived, as diffs."""
    show(_table(checked))
    for one in checked:
        for miss in one.misses:
            show(f"{one.lab}: {miss}")
    for one in checked:
        for survivor in one.mutation.survivors if one.mutation else []:
            show(f"\n{one.lab}: no hidden test notices\n{survivor.diff}")
    if any(one.mutation for one in checked):
        from grading.authoring.mutate import SEED

        show(f"mutants graded with seed {SEED}")


def _table(checked: list[Checked]) -> object:
    from rich.table import Table
    from rich.text import Text

    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0))
    for name in COLUMNS:
        table.add_column(name, justify="left" if name in ("", "lab") else "right")
    for one in checked:
        mark = Text("✓", "green") if one.good else Text("✗", "red")
        found = one.mutation
        mutants = [found.tried, f"{found.score:.1%}", found.by_time, found.equivalent] if found else ["-"] * 4
        table.add_row(mark, one.lab, *map(str, [one.tests, one.mistakes, *mutants]), f"{one.seconds:.0f}")
    return table
