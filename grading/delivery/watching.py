"""A lab's work tree under watch: what is saved there, whoever's editor saves it how, and what that leads to."""

import contextlib
import os
import signal
from collections.abc import Iterator, Sequence
from pathlib import Path

import git
from watchfiles import watch

from grading.course.catalog import Course, Lab
from grading.delivery import practice
from grading.delivery.clone import CloneError, lab_here, work_folder
from grading.judge.carry import OnEvent
from grading.judge.watch import Round, Watch
from grading.sandbox import jail

STEP_MS = 20  # so long nothing may change before it is looked at: an editor truncates, writes, renames
LOOK_MS = 1000  # so often the files are looked at anyhow
MARK = ".lab.json"


def rounds(repo: git.Repo, course: Course, lab: Lab, on_event: OnEvent) -> Iterator[Round]:
    """A round at once and one a save, until the generator is closed or interrupted; then nothing is left running."""
    folder = work_folder(repo)
    here, away = _lab_in(folder), False
    watched = Watch(course, lab, folder, jail.status().ok)
    try:
        for _ in _ticks(folder, [*lab.editable_paths, MARK]):
            found = _lab_in(folder)
            if found != here:
                if not away:
                    yield Round(problem=_moved(lab, found))
                away = True
            elif (saved := watched.look()) or away:
                away = False
                done = watched.run(saved, on_event)
                if done.ran:
                    practice.note_failing(repo, lab, done.report)
                yield done
    finally:
        with _undisturbed():
            watched.close()


def _moved(lab: Lab, found: str) -> str:
    now = f"this is {found}'s work tree now" if found else f"this is no work tree of {lab.id} any more"
    return f"{now}: the watch goes on when {lab.id} is checked out again"


def _lab_in(folder: Path) -> str:
    try:
        return lab_here(folder)
    except CloneError:
        return ""


def _ticks(folder: Path, paths: Sequence[str]) -> Iterator[None]:
    """A tick now, and whenever something may have happened to one of `paths`, which may be gone or not there yet.

    The folders on the way are watched, not the files: most editors put another file in the old one's place. CloneError
    when `folder` itself is gone.
    """
    while True:
        places = _places(folder, paths)
        yield
        how = {"recursive": False, "step": STEP_MS, "rust_timeout": LOOK_MS, "yield_on_timeout": True}
        with contextlib.suppress(FileNotFoundError):  # gone since: look anew
            for _ in watch(*places, watch_filter=None, **how):
                if _places(folder, paths) != places:
                    break
                yield


def _places(folder: Path, paths: Sequence[str]) -> dict[Path, int]:
    """The folders that there are between `folder` and the files, each with its inode."""
    found = {}
    for path in paths:
        for at in [folder, *reversed([folder / one for one in Path(path).parents][:-1])]:
            with contextlib.suppress(OSError):
                found[at] = os.stat(at).st_ino
    if folder not in found:
        raise CloneError(f"{folder} is gone")
    return found


@contextlib.contextmanager
def _undisturbed() -> Iterator[None]:
    """Let no second Ctrl-C, no end of the terminal break into the block."""
    before = {one: signal.signal(one, signal.SIG_IGN) for one in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)}
    try:
        yield
    finally:
        for one, handler in before.items():
            signal.signal(one, handler)
