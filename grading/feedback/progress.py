"""The learner's map: chapters, labs, seals earned, what is open next."""

from collections.abc import Mapping
from typing import NamedTuple

from pydantic import Field
from rich.table import Table
from rich.text import Text

from grading.course.catalog import Course, Lab
from grading.judge.report import Model, Verdict

SEALS = ("patch", "mainline", "exam")


class Standing(Model):
    """What a learner has done in one lab."""

    lab: str
    seals: list[str] = Field(default=[])
    attempts: int = 0


class Try(NamedTuple):
    """One graded attempt at a lab; `when` in ISO 8601, UTC."""

    when: str
    verdict: Verdict


def unlocked(course: Course, standings: Mapping[str, Standing]) -> list[str]:
    """Labs without a Patch seal whose `needs` all have one, in the course's order."""
    done = {name for name, standing in standings.items() if "patch" in standing.seals}
    return [lab.id for lab in course.labs if lab.id not in done and done.issuperset(lab.needs)]


def render_map(course: Course, standings: Mapping[str, Standing]) -> Table:
    """One row a lab under its chapter's row; pure, for `Console.print`."""
    ready = unlocked(course, standings)
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="dim")
    for name, justify in [("", "left"), ("lab", "left"), ("", "left"), ("", "left"), ("hours", "right")]:
        table.add_column(name, justify=justify, no_wrap=name != "")
    for seal in SEALS:
        table.add_column(seal, justify="center", no_wrap=True)
    table.add_column("tries", justify="right", no_wrap=True)
    for chapter in course.chapters:
        labs = [lab for lab in course.labs if lab.chapter == chapter.id]
        if labs:
            table.add_row("", "", Text(f"{chapter.id}. {chapter.title}", "bold"))
        for lab in labs:
            table.add_row(*_cells(lab, standings.get(lab.id, Standing(lab=lab.id)), ready))
    return table


def _seal(name: str, lab: Lab, standing: Standing) -> Text:
    """Earned, not earned, or no such seal."""
    if name in standing.seals:
        return Text("●", "green")
    return Text("○" if name != "mainline" or lab.seals.mainline else "", "dim")


def _cells(lab: Lab, standing: Standing, ready: list[str]) -> list[Text]:
    done = "patch" in standing.seals
    mark = Text("✓", "green") if done else Text("→", "bold cyan") if lab.id in ready else Text("·", "dim")
    style = "" if done or lab.id in ready else "dim"
    tries = Text(str(standing.attempts) if standing.attempts else "")
    return [
        mark,
        Text(lab.id, style),
        Text(lab.title, style),
        Text("★" * lab.stars, "yellow"),
        Text(f"{lab.hours:g}"),
        *(_seal(name, lab, standing) for name in SEALS),
        tries,
    ]
