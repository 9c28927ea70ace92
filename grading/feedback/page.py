"""`labs progress --html`: the learner's map as one page that needs no network and no script."""

from collections.abc import Collection, Mapping
from datetime import UTC, datetime
from pathlib import Path

from jinja2 import Environment, FileSystemLoader, StrictUndefined

from grading.course.catalog import Course
from grading.feedback.progress import SEALS, Standing, Try, unlocked

WIDTH, HEIGHT = 720, 120  # of the plot, in its own units


def render(
    course: Course, standings: Mapping[str, Standing], tries: Mapping[str, list[Try]], published: Collection[str]
) -> str:
    """HTML: the figures, one card a lab by chapter, and each attempt over time. `published`: ids of labs with a branch.

    Pure, but for the template beside this file.
    """
    loader = FileSystemLoader(Path(__file__).parent)
    pages = Environment(loader=loader, autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True)
    ready = unlocked(course, standings)
    cards = {lab.id: _card(lab, standings, tries, ready, published) for lab in course.labs}
    chapters = [(one, [cards[lab.id] for lab in course.labs if lab.chapter == one.id]) for one in course.chapters]
    every = sorted((attempt.when, lab, attempt) for lab, some in tries.items() for attempt in some)
    return pages.get_template("page.html").render(
        title=course.title,
        chapters=[(one, found) for one, found in chapters if found],
        seals={name: sum(name in one.seals for one in standings.values()) for name in SEALS},
        labs=len(course.labs),
        attempts=len(every),
        dots=_dots([(lab, attempt) for _, lab, attempt in every]),
        width=WIDTH,
        height=HEIGHT,
    )


def _card(lab, standings, tries, ready, published) -> dict:
    standing = standings.get(lab.id, Standing(lab=lab.id))
    done = "patch" in standing.seals
    return {
        "lab": lab,
        "state": "done" if done else "open" if lab.id in ready else "locked",
        "seals": [(name, name in standing.seals) for name in SEALS if name != "mainline" or lab.seals.mainline],
        "tries": tries.get(lab.id, []),
        "published": lab.id in published,
    }


def _dots(every: list[tuple[str, Try]]) -> list[dict]:
    """Each attempt at its place: time to the right, the count of attempts upwards."""
    times = [_seconds(attempt.when) for _, attempt in every]
    span = max(times[-1] - times[0], 1.0) if times else 1.0
    return [
        {
            "x": round(10 + (WIDTH - 20) * (time - times[0]) / span, 1),
            "y": round(HEIGHT - 10 - (HEIGHT - 20) * (index + 1) / len(every), 1),
            "verdict": attempt.verdict.value,
            "what": f"{lab} {attempt.verdict.value} {attempt.when}",
        }
        for index, (time, (lab, attempt)) in enumerate(zip(times, every, strict=True))
    ]


def _seconds(when: str) -> float:
    return datetime.fromisoformat(when).astimezone(UTC).timestamp()
