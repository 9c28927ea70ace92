"""`labs watch`: the public tests on every save, as a live table, plain lines or JSON lines."""

from __future__ import annotations

import contextlib
import json
import signal
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from grading.cli.common import CourseOption, HereArgument, course_here, lab_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from grading.course.catalog import Lab
    from grading.judge.watch import Round

LinesOption = Annotated[bool, typer.Option("--json", help="Print a line of JSON a save.")]


def add_to(app: typer.Typer) -> None:
    app.command()(watch)


def watch(lab: HereArgument = None, course: CourseOption = None, as_json: LinesOption = False) -> None:
    """Run the public tests that a save touches, on every save, until Ctrl-C. Example: labs watch"""
    from grading.delivery.clone import open_clone
    from grading.delivery.watching import rounds

    found = course_here(course)
    one, repo = lab_of(found, lab), open_clone(Path.cwd())
    with _until_stopped(), _json_lines() if as_json else _table(one) if sys.stdout.isatty() else _lines(one) as view:
        hear, tell = view
        with contextlib.closing(rounds(repo, found, one, hear)) as all_of_them:
            for done in all_of_them:
                tell(done)


@contextlib.contextmanager
def _until_stopped() -> Iterator[None]:
    """Ctrl-C, SIGTERM, the terminal's end and a reader that went away all end a watch, and none is an error."""
    for one in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(one, signal.default_int_handler)
    try:
        yield
    except KeyboardInterrupt:
        pass
    except BrokenPipeError:
        sys.stdout = None  # nobody is there to flush it to


View = tuple["Callable[[dict[str, Any]], None]", "Callable[[Round], None]"]  # for events, for rounds


@contextlib.contextmanager
def _table(lab: Lab) -> Iterator[View]:
    from rich.live import Live

    from grading.feedback.live import Screen

    screen = Screen(lab)
    with Live(screen, auto_refresh=False) as live:
        live.refresh()

        def hear(event: dict[str, Any]) -> None:
            screen.hear(event)
            live.refresh()

        def tell(done: Round) -> None:
            screen.show(done)
            live.refresh()

        yield hear, tell


@contextlib.contextmanager
def _lines(lab: Lab) -> Iterator[View]:
    from grading.feedback import live

    print(f"watching {lab.id}: Ctrl-C ends it", flush=True)
    yield _nothing, lambda done: print(*live.lines(done), sep="\n", flush=True)


@contextlib.contextmanager
def _json_lines() -> Iterator[View]:
    def tell(done: Round) -> None:
        told = vars(done) | {"report": done.report and done.report.model_dump(mode="json")}
        print(json.dumps(told, ensure_ascii=False), flush=True)

    yield _nothing, tell


def _nothing(event: dict[str, Any]) -> None:
    """Only a table shows a run while it lasts."""
