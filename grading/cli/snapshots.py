"""`labs snapshots`: the pinned upstream releases, fetched once into a cache and compared with the course."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Annotated

import typer

from grading.cli.common import CourseOption, JsonOption, course_here, show, show_json

if TYPE_CHECKING:
    from grading.course.isomorphism import Difference
    from grading.course.snapshots import Lock

INFRA = 3
app = typer.Typer(help="The pinned upstream releases. Example: labs snapshots fetch")
NamesArgument = Annotated[list[str] | None, typer.Argument(metavar="[NAME]...", help="Default: all.")]


@app.command()
def fetch(
    names: NamesArgument = None,
    source: Annotated[
        str, typer.Option("--from", metavar="REPO", help="A clone or URL, for one that is no package.")
    ] = "",
    course: CourseOption = None,
) -> None:
    """Bring the pinned releases into the cache, once. Example: labs snapshots fetch megatron-core"""
    from grading.course import fetch as fetching
    from grading.course import packages
    from grading.course.snapshots import SnapshotError, pick

    missed, root = 0, course_here(course).root
    for lock in pick(root, names or []):
        try:
            with _bar(lock) as say:
                folder = fetching.fetch(lock, say, source if not lock.archive or names else "")
            packages.install(packages.lock_file(root, lock.name))
            show(f"{lock.name} {lock.version}: {folder}")
        except SnapshotError as error:
            missed += 1
            show(f"{lock.name} {lock.version}: {error}")
    if missed:
        raise typer.Exit(INFRA)


@app.command("list")
def list_all(course: CourseOption = None, as_json: JsonOption = False) -> None:
    """What the course pins, and what of it is here. Example: labs snapshots list"""
    from grading.course import cache
    from grading.course.snapshots import load

    rows = []
    for lock in load(course_here(course).root).values():
        here = str(cache.folder(lock)) if cache.have(lock) else ""
        rows.append(
            {**lock.model_dump(include={"name", "version", "licence"}), "anchors": len(lock.anchors), "folder": here}
        )
    show_json(rows) if as_json else show(_table(rows, "not fetched"))


@app.command()
def verify(names: NamesArgument = None, course: CourseOption = None, as_json: JsonOption = False) -> None:
    """Compare the cache with the locks: files and anchors. Example: labs snapshots verify verl"""
    from grading.course import anchors, cache
    from grading.course.snapshots import pick

    rows, bad = [], False
    for lock in pick(course_here(course).root, names or []):
        state = cache.state(lock)
        wrong = (
            [vars(one) for one in anchors.look(lock, cache.folder(lock)) if one.what != "same"]
            if state == "good"
            else []
        )
        rows.append({"name": lock.name, "version": lock.version, "files": state, "anchors": wrong})
        bad = bad or state == "damaged" or bool(wrong)
    if as_json:
        show_json(rows)
    else:
        show(_table([{**row, "anchors": len(row["anchors"]) or "as locked"} for row in rows]))
        for row in rows:
            for one in row["anchors"]:
                show(f"{row['name']}: {one['anchor']} is {one['what']}: {one['why'] or one['new']}")
    raise typer.Exit(1 if bad else 0)


@app.command()
def diff(names: NamesArgument = None, course: CourseOption = None, as_json: JsonOption = False) -> None:
    """Names and parameters of mini_infra that upstream has not. Example: labs snapshots diff megatron-core"""
    from grading.course import cache
    from grading.course.isomorphism import Mirror, compare, mirrored
    from grading.course.snapshots import SnapshotError, pick

    root, rows, missed = course_here(course).root, [], 0
    for lock in pick(root, names or []):
        if not names and not mirrored(root, lock):
            continue
        try:
            mirror = Mirror(root, lock, cache.need(lock))
        except SnapshotError as error:
            missed += 1
            print(f"labs: {error}", file=sys.stderr)
            continue
        found = compare(root, mirror)
        rows += [{"name": lock.name, "version": lock.version, **vars(one)} for one in found]
        if not as_json:
            _show_diff(lock, mirror.symbols, found)
    if as_json:
        show_json(rows)
    raise typer.Exit(1 if not all(row["reason"] for row in rows) else INFRA if missed else 0)


def _show_diff(lock: Lock, symbols: int, found: list[Difference]) -> None:
    """A line an error, and one that counts."""
    errors = [one for one in found if not one.reason]
    for one in errors:
        show(str(one))
    counted = f"{symbols} symbols; differences explained: {len(found) - len(errors)}, errors: {len(errors)}"
    show(f"{lock.name} {lock.version}: {counted}")


@app.command()
def drift(
    releases: Annotated[list[str] | None, typer.Argument(metavar="[NAME[==VERSION]]...", help="Default: all.")] = None,
    source: Annotated[
        str, typer.Option("--from", metavar="REPO", help="A clone or URL, for one that is no package.")
    ] = "",
    course: CourseOption = None,
    as_json: JsonOption = False,
) -> None:
    """What became of the anchors in another release (the newest). Example: labs snapshots drift verl==0.9.2"""
    from grading.course import anchors
    from grading.course.fetch import other_release
    from grading.course.snapshots import SnapshotError, pick

    asked = dict(one.partition("==")[::2] for one in releases or [])
    rows, missed = [], 0
    for lock in pick(course_here(course).root, list(asked)):
        try:
            with _bar(lock) as say, other_release(lock, asked.get(lock.name, ""), say, source) as (found, top):
                looked = list(anchors.look(lock, top))
        except SnapshotError as error:
            missed += 1
            print(f"labs: {lock.name}: {error}", file=sys.stderr)
            continue
        rows += [{"name": lock.name, "version": found.version, **vars(one)} for one in looked]
    show_json(rows) if as_json else show(_drift_table([row for row in rows if row["what"] != "same"], len(rows)))
    drifted = any(row["what"] in ("changed", "gone") for row in rows)
    raise typer.Exit(1 if drifted else INFRA if missed else 0)


def _drift_table(rows: list[dict], of: int) -> object:
    """One line an anchor that is not as it was."""
    if not rows:
        return f"{of} anchors, all as they were"
    lines = {None: ""} | {
        row[side]: "-".join(map(str, row[side])) for row in rows for side in ("old", "new") if row[side]
    }
    shown = [{**row, "old": lines[row["old"]], "new": lines[row["new"]]} for row in rows]
    return _table(shown)


def _table(rows: list[dict], absent: str = "") -> object:
    from rich.table import Table

    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0))
    for name in rows[0] if rows else ["no snapshots"]:
        table.add_column(name, no_wrap=name != "folder", overflow="fold")
    for row in rows:
        table.add_row(*(str(value) if value != "" else absent for value in row.values()))
    return table


def _bar(lock: Lock):
    """A context whose value is told how many bytes are here; a bar on a terminal's stderr."""
    from contextlib import contextmanager

    from rich.console import Console
    from rich.progress import BarColumn, DownloadColumn, Progress, TextColumn, TransferSpeedColumn

    @contextmanager
    def shown():
        console = Console(stderr=True)
        columns = [TextColumn("{task.description}"), BarColumn(), DownloadColumn(), TransferSpeedColumn()]
        with Progress(*columns, console=console, transient=True, disable=not console.is_terminal) as bar:
            task = bar.add_task(f"{lock.name} {lock.version}", total=lock.size)
            yield lambda done: bar.update(task, completed=done)

    return shown()
