"""Every object of the hub that the real course's learners fetch from, reachable or not, is read for answers."""

import subprocess
from pathlib import Path

from grading.course import trees
from grading.course.catalog import Course
from grading.course.upstream import upstream_files
from grading.delivery import hub as hubs

EXPECTED = "absent"
DEFENDS = "P2: hidden means absent"
SHORTEST = 50  # of a line that says something


def pushes(ground):
    """Nothing is pushed: what `labs hub init` put there is the attack's whole ground."""
    course = Course.load(Path(__file__).parents[3])
    hubs.init(ground.folder / "real.git", course.root)
    command = ["git", "cat-file", "--batch-all-objects", "--batch"]
    objects = subprocess.run(command, cwd=ground.folder / "real.git", capture_output=True, check=True).stdout
    starters = [trees.starter_tree(course, lab) for lab in course.labs]
    shown = {line for starter in starters for content in starter.values() for line in _lines(content)}
    upstream = b"".join(content for lab in course.labs for content in upstream_files(course, lab).values())
    found = [line for line in sorted(_secret(course) - shown) if line in objects and line not in upstream]
    yield "\n".join(line.decode() for line in found)


def outcome(said: str) -> str:
    return said or "absent"


def _lines(content: bytes) -> set[bytes]:
    return {line.strip() for line in content.splitlines() if len(line.strip()) >= SHORTEST}


def _secret(course) -> set[bytes]:
    folders = [lab.folder / name for lab in course.labs for name in ("hidden", "mistakes")]
    files = [path for folder in folders for path in folder.rglob("*.py")]
    return set().union(*(_lines(path.read_bytes()) for path in files))
