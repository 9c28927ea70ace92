import io

from rich.console import Console

from grading.feedback.progress import Standing, render_map, unlocked


def test_unlocked_needs_the_patch_seal_of_what_a_lab_needs(course):
    assert unlocked(course, {}) == ["l05"]
    assert unlocked(course, {"l05": Standing(lab="l05", seals=["patch"])}) == ["l11"]
    assert unlocked(course, {"l05": Standing(lab="l05", attempts=3)}) == ["l05"]


def test_map(course, snapshot):
    standings = {"l05": Standing(lab="l05", seals=["mainline", "patch"], attempts=3)}
    console = Console(width=92, file=io.StringIO(), _environ={})
    console.print(render_map(course, standings))
    assert console.file.getvalue() == snapshot
