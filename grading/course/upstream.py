"""Upstream's own files on a lab's branch, below upstream/NAME-VERSION/: to be read beside the mini that mirrors them.

They come out of the cache into published branches alone. The trees that are graded do not hold them, nothing in the
jail does, and nobody edits them: what a learner writes there is neither graded nor told as an edit.
"""

from collections.abc import Sequence

from grading.course import cache, snapshots
from grading.course.catalog import Course, Lab
from grading.course.snapshots import SnapshotError
from grading.course.trees import Tree

FOLDER = "upstream"


def is_upstream(path: str) -> bool:
    """Is it a path of a branch below upstream/?"""
    return path.startswith(f"{FOLDER}/")


def named(lab: Lab) -> dict[str, list[str]]:
    """Snapshot -> paths in it that the branch shows: the files of the seals' anchors, and those of `upstream`."""
    found = [(seal.snapshot, anchor.partition("::")[0]) for seal in lab.seals.mainline for anchor in seal.anchors]
    found += [(name, path) for name, _, path in (one.partition("/") for one in lab.upstream)]
    return {name: sorted({path for one, path in found if one == name}) for name, _ in sorted(found)}


def missing(course: Course, labs: Sequence[Lab]) -> list[str]:
    """The snapshots that the branches of `labs` show and the cache has not."""
    wanted = sorted({name for lab in labs for name in named(lab)})
    return [name for name in wanted if not all(map(cache.have, snapshots.pick(course.root, [name])))]


def upstream_files(course: Course, lab: Lab) -> Tree:
    """What the branch shows of the snapshots that are fetched, with the licence of each release."""
    tree: Tree = {}
    for name, paths in named(lab).items():
        (lock,) = snapshots.pick(course.root, [name])
        if cache.have(lock):
            top = f"{FOLDER}/{name}-{lock.version}"
            tree |= {f"{top}/{path}": cache.read(lock, path).encode() for path in paths}
            tree |= {f"{top}/{path}": content for path, content in cache.licences(lock).items()}
    return tree


def refusal(absent: Sequence[str]) -> SnapshotError:
    """What to do about snapshots that are `missing`."""
    verb = "is" if len(absent) == 1 else "are"
    return SnapshotError(
        f"the branches show files of {', '.join(absent)}, which {verb} not fetched yet: "
        f"labs snapshots fetch {' '.join(absent)}, or publish with --without-upstream"
    )
