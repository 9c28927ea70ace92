"""Write an upstream lock anew: python scripts/pin_snapshot.py NAME [VERSION | COMMIT] [--from REPO].

Takes repository, licence and patterns from the lock that is there, everything else from the release: archive, hashes,
tree, and the anchors of the old lock, of the labs' seals, and of those holes that upstream has too. Says what moved.
"""

import argparse
from pathlib import Path

import yaml

from grading.course import anchors, snapshots
from grading.course.catalog import Course
from grading.course.fetch import other_release
from grading.course.spans import HoleError

ROOT = Path(__file__).resolve().parents[1]
MINI = "mini_infra/"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("name")
    parser.add_argument("version", nargs="?", help="default: the one that the lock has")
    parser.add_argument("--from", dest="source", default="", help="a clone, for a snapshot that comes by git")
    given = parser.parse_args()
    (lock,) = snapshots.pick(ROOT, [given.name])
    wanted = given.version or (lock.version if lock.archive else lock.ref)
    with other_release(lock, wanted, lambda done: None, given.source) as (found, top):
        marks = {anchor: one for anchor in _wanted(lock) if (one := _mark(top, anchor))}
        gone = [anchor for anchor in lock.anchors if anchor not in marks]
    for anchor in gone:
        print(f"gone: {anchor}")
    path = ROOT / snapshots.FOLDER / f"{lock.name}.yaml"
    path.write_text(_text(found.model_copy(update={"anchors": marks})), encoding="utf-8")
    print(f"{path.name}: {found.version}, {len(marks)} anchors")


def _wanted(lock: snapshots.Lock) -> list[str]:
    """The names that may be anchors of this snapshot, sorted."""
    names = set(lock.anchors)
    for lab in Course.load(ROOT).labs:
        names |= {name for seal in lab.seals.mainline if seal.snapshot == lock.name for name in seal.anchors}
        names |= {name.removeprefix(MINI) for name in lab.all_holes if name.startswith(f"{MINI}{lock.top}/")}
    return sorted(names)


def _mark(top: Path, anchor: str) -> snapshots.Mark | None:
    path, _, qualname = anchor.partition("::")
    try:
        return anchors.mark((top / path).read_text(encoding="utf-8"), qualname)
    except (OSError, HoleError):
        return None


def _text(lock: snapshots.Lock) -> str:
    """The lock as YAML: one line a key, one line an anchor."""
    said = lock.model_dump(exclude={"anchors", "name"}, exclude_defaults=True)
    head = yaml.safe_dump({"name": lock.name, **said}, sort_keys=False, default_flow_style=None, width=1000)
    lines = [f"  {name}: {{lines: {list(one.lines)}, source: '{one.source}'}}\n" for name, one in lock.anchors.items()]
    return head + ("anchors:\n" + "".join(lines) if lines else "")


if __name__ == "__main__":
    main()
