"""Hints: three levels a topic, earned by failing attempts on that topic or asked for (DESIGN 8)."""

from collections.abc import Mapping, Sequence

from grading.course.catalog import Lab
from grading.course.marked import Marked
from grading.feedback.outline import LAST
from grading.judge.report import Model, Report

LEVELS = 3
Hints = Mapping[str, Sequence[str]]


class Hint(Model):
    topic: str
    level: int
    of: int = LEVELS
    text: str


def load(lab: Lab) -> dict[str, list[str]]:
    """hints.yaml as {topic: [level 1, level 2, level 3]}; CourseError names the file and the line."""
    path = lab.folder / "hints.yaml"
    if not path.is_file():
        return {}
    marked = Marked(path, f"challenges/{lab.folder.name}/hints.yaml")
    for topic, levels in marked.data.items():
        if not isinstance(levels, list) or len(levels) != LEVELS:
            raise marked.error((topic,), f"topic {topic} needs a list of {LEVELS} levels")
        for index, level in enumerate(levels):
            if not isinstance(level, str) or not level.strip():
                raise marked.error((topic, index), "a level is a sentence; quote it when it holds a colon")
    return {str(topic): [level.strip() for level in levels] for topic, levels in marked.data.items()}


def topic_of(report: Report) -> str:
    """The topic of the first failing test in the contract's order; "" when none has one."""
    failed = sorted(report.failed, key=lambda test: min(test.contract, default=LAST))
    return next((test.topic for test in failed if test.topic), "")


def level(failing: int, hint_after: Sequence[int], asked: int = 0) -> int:
    """The level that `failing` attempts on a topic have earned, or the one asked for if that is higher."""
    earned = sum(failing >= threshold for threshold in hint_after)
    return min(LEVELS, max(earned, asked))


def give(hints: Hints, topic: str, level: int) -> Hint | None:
    """The hint of that level, from 1 to 3; None for level 0 or a topic without hints."""
    if level < 1 or topic not in hints:
        return None
    level = min(level, LEVELS)
    return Hint(topic=topic, level=level, text=hints[topic][level - 1])
