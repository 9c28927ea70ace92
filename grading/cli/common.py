"""What the commands share: the course, the lab that is meant, JSON or Rich on stdout."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

if TYPE_CHECKING:
    from grading.course.catalog import Course, Lab
    from grading.feedback.advice import Advice
    from grading.judge.report import Report

USER_ERRORS = [
    ("grading.authoring.adopt", "AdoptError"),
    ("grading.course.files", "NotWritten"),
    ("grading.course.marked", "CourseError"),
    ("grading.course.plumbing", "GitError"),
    ("grading.course.spans", "HoleError"),
    ("grading.delivery.clone", "CloneError"),
    ("grading.delivery.hub", "HubError"),
    ("grading.delivery.remote", "PublishError"),
    ("grading.delivery.github.event", "EventError"),
    ("grading.delivery.github.forge", "ForgeError"),
]
PIPE_WIDTH = 100
CourseOption = Annotated[Path | None, typer.Option("--course", metavar="PATH", help="The course, when not found here.")]
JsonOption = Annotated[bool, typer.Option("--json", help="Print JSON.")]
LabArgument = Annotated[str, typer.Argument(metavar="LAB", help="A lab's id, such as l05.")]
HereArgument = Annotated[str | None, typer.Argument(metavar="[LAB]", help="Default: the lab of this work tree.")]


def user_line(error: Exception) -> str | None:
    """The line for the user, when the error is theirs to mend; an error can only be of a module that is loaded."""
    if _is(error, "git.exc", "GitCommandError"):
        from grading.delivery.plumbing import last_line

        return last_line(error)
    return str(error) if any(_is(error, module, name) for module, name in USER_ERRORS) else None


def _is(error: Exception, module: str, name: str) -> bool:
    return module in sys.modules and isinstance(error, getattr(sys.modules[module], name))


def course_here(explicit: Path | None) -> Course:
    from grading.course.catalog import find_course

    return find_course(Path.cwd(), explicit)


def course_or_none(explicit: Path | None) -> Course | None:
    """The course, where there is one: `labs doctor` runs anywhere."""
    from grading.course.catalog import CourseError

    try:
        return course_here(explicit)
    except CourseError:
        return None


def lab_of(course: Course, name: str | None) -> Lab:
    """The lab called `name`, else the one whose work tree this is."""
    from grading.delivery.clone import lab_here

    return course.lab(name or lab_here(Path.cwd()))


def show(renderable: Any) -> None:
    """Print on stdout; colours on a terminal only, never by guessing at words. In a pipe plain lines stay whole."""
    from rich.console import Console

    piped = not sys.stdout.isatty()
    console = Console(highlight=False, markup=False, width=PIPE_WIDTH if piped else None)
    console.print(renderable, soft_wrap=piped and isinstance(renderable, str))


def show_json(data: Any) -> None:
    print(json.dumps(data, indent=1, ensure_ascii=False))


def show_report(report: Report, advice: Advice, as_json: bool) -> None:
    """A report on stdout, and the exit code that goes with it."""
    if as_json:
        show_json({"report": report.model_dump(mode="json"), "advice": advice.model_dump(mode="json")})
    else:
        from grading.feedback.terminal import render_terminal

        show(render_terminal(report, advice))
    raise typer.Exit(report.exit_code)
