"""`labs hub`: a bare repository that grades what is pushed to refs/for/lab/lNN."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Annotated

import typer

from grading.cli.common import CourseOption, JsonOption, course_here, show, show_json

app = typer.Typer(help="A bare repository that grades what is pushed. Example: labs hub init ../hub.git")
HubArgument = Annotated[Path, typer.Argument(metavar="DIR", help="The bare repository.")]


@app.command()
def init(
    folder: HubArgument,
    course: CourseOption = None,
    no_jail: Annotated[bool, typer.Option("--no-jail", help="Grade without a jail; verdicts do not count.")] = False,
    no_spares: Annotated[bool, typer.Option("--no-spares", help="Keep no judges ready: memory is short.")] = False,
    engine: Annotated[str, typer.Option("--engine", help="Where pip gets the engine for a lab branch.")] = "",
) -> None:
    """Make a hub, or bring an old one up to date with the course. Example: labs hub init ../hub.git"""
    from grading.cli.maintain import published_table
    from grading.delivery import hub

    settings = {"jailed": not no_jail, "engine": engine, "spares": not no_spares}
    show(published_table(hub.init(folder, course_here(course).root, **settings)))
    show(f"Push answers with: git push {folder} HEAD:refs/for/lab/lNN")


@app.command()
def log(folder: HubArgument, as_json: JsonOption = False) -> None:
    """Every grading that the hub remembers. Example: labs hub log ../hub.git"""
    from grading.delivery import hub

    records = hub.log(folder)
    if as_json:
        return show_json([{**vars(one)} for one in records])
    from rich.table import Table

    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0))
    for name in ("when", "lab", "user", "attempt", "verdict", "commit"):
        table.add_column(name, no_wrap=True)
    for one in records:
        table.add_row(one.when, one.lab, one.user, str(one.attempt or "–"), one.verdict, one.commit[:10])
    show(table)


@app.command()
def serve(folder: HubArgument) -> None:
    """Keep judges ready for the next push until none comes for ten minutes. Example: labs hub serve ../hub.git

    A push starts it by itself; run it by hand before a class begins.
    """
    from grading.delivery import hub, serve

    hub.open_hub(folder)
    show(f"serving {folder}: Ctrl-C ends it")
    os.execve(sys.executable, serve.command(folder.resolve(), []), serve.environment())
