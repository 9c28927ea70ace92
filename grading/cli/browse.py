"""Look around: list, show, progress, doctor."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from grading.cli.common import CourseOption, HereArgument, JsonOption, course_here, lab_of, show, show_json

if TYPE_CHECKING:
    from grading.course.catalog import Course
    from grading.delivery.local import State
    from grading.feedback.progress import Standing


def add_to(app: typer.Typer) -> None:
    app.command("list")(list_labs)
    app.command("show")(show_task)
    app.command("progress")(progress)
    app.command("doctor")(doctor)


def list_labs(course: CourseOption = None, as_json: JsonOption = False) -> None:
    """The map: chapters, labs, stars, hours, seals earned, what is open next. Example: labs list"""
    found = course_here(course)
    standings = _standings()
    if as_json:
        return show_json(_map(found, standings))
    from grading.feedback.progress import render_map

    show(render_map(found, standings))


def show_task(lab: HereArgument = None, course: CourseOption = None, as_json: JsonOption = False) -> None:
    """A lab's task. Example: labs show l05"""
    found = lab_of(course_here(course), lab)
    task = (found.folder / "task.md").read_text(encoding="utf-8")
    if as_json:
        return show_json({**found.model_dump(mode="json"), "branch": found.branch, "task": task})
    from rich.markdown import Markdown

    show(Markdown(task, hyperlinks=False))


def progress(
    course: CourseOption = None,
    as_json: JsonOption = False,
    html: Annotated[
        Path | None, typer.Option("--html", metavar="FILE", help="Write the map of all labs as a page.")
    ] = None,
) -> None:
    """Seals, attempts and days by lab, from this clone's own records. Example: labs progress --html map.html"""
    from grading.delivery import local

    found, state = course_here(course), local.load_here(Path.cwd())
    if as_json:
        return show_json(local.as_json(state))
    if html:
        return _write_page(found, state, html)
    from grading.feedback.progress import render_map

    show(render_map(found, local.standings(state)))
    show(local.summary(state, len(found.labs)))


def _write_page(course: Course, state: State, path: Path) -> None:
    from grading.course.files import write_whole
    from grading.delivery import local
    from grading.feedback.page import render

    page = render(course, local.standings(state), local.tries(state), local.published(Path.cwd()))
    write_whole(path, page)
    show(f"{path} has the map of {len(course.labs)} labs; open it in a browser.")


def doctor(
    course: CourseOption = None,
    as_json: JsonOption = False,
    quick: Annotated[bool, typer.Option("--quick", help="Only what does not hold.")] = False,
) -> None:
    """What this machine has and lacks, each protection of the jail tried. Example: labs doctor"""
    from grading.cli.common import course_or_none
    from grading.sandbox.doctor import run_checks

    checks = run_checks(course_or_none(course))
    if as_json:
        show_json([vars(check) for check in checks])
    else:
        show(_checks([check for check in checks if not quick or check.held is False]))
    raise typer.Exit(1 if any(check.held is False for check in checks) else 0)


def _checks(checks: list) -> object:
    from rich.table import Table
    from rich.text import Text

    signs = {True: Text("✓", "green"), False: Text("✗", "red"), None: Text("·", "dim")}
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), show_header=False)
    for check in checks:
        fix = Text(f"\n{check.fix}", "yellow") if check.fix and check.held is not True else Text("")
        table.add_row(signs[check.held], Text(check.name), Text(check.detail) + fix)
    return table


def _standings() -> dict[str, Standing]:
    from grading.delivery import local

    return local.standings(local.load_here(Path.cwd()))


def _map(course: Course, standings: dict[str, Standing]) -> list[dict]:
    from grading.feedback.progress import Standing, unlocked

    ready = unlocked(course, standings)
    kept = ("id", "title", "chapter", "stars", "hours", "needs")
    return [
        {
            **{name: getattr(lab, name) for name in kept},
            **standings.get(lab.id, Standing(lab=lab.id)).model_dump(exclude={"lab"}),
            "open": lab.id in ready,
        }
        for lab in course.labs
    ]
