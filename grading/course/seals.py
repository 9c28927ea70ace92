"""What a Mainline seal puts into a jail: upstream's files, the packages they need, and the program that loads them.

There are two jails, as in any grading. The one on the reference's side holds upstream and no learner's code, so what
it answers is upstream's word. The submission's holds upstream too where a seal sets the patch into it (swap, graft).
"""

from pathlib import Path
from typing import Any

from grading.course import cache, packages, snapshots
from grading.course.catalog import Course, Lab
from grading.course.models import MainlineSeal
from grading.course.snapshots import Lock, SnapshotError
from grading.course.trees import Tree, run_settings

PROBES = "mainline.py"  # where a rank finds the seal's own probes: lab.upstream("mainline.masked", …)
MIXED = {"swap", "graft"}
PATIENCE = {"probe_s": 20.0, "wall_s": 120.0}  # one probe answers hundreds of cases


def has_mainline(lab: Lab) -> bool:
    return bool(lab.seals.mainline) and (lab.folder / "mainline").is_dir()


def has_gpu(lab: Lab) -> bool:
    """Has it hidden tests marked `gpu`?"""
    return any("lab.gpu" in path.read_text(encoding="utf-8") for path in (lab.folder / "hidden").glob("*.py"))


def gpu_settings(lab: Lab) -> dict[str, Any]:
    """run_settings for the tests marked `gpu`, which are a bonus and no seal. SnapshotError where there is none."""
    if not has_gpu(lab):
        raise SnapshotError(f"{lab.id} has no hidden test marked gpu")
    return run_settings(lab) | {"gpu": True}


def mainline_settings(course: Course, lab: Lab) -> dict[str, Any]:
    """run_settings, and by side the recipes of its zygote. SnapshotError: in one line, which fetch is missing."""
    if not has_mainline(lab):
        raise SnapshotError(f"{lab.id} has no Mainline seal")
    locks = snapshots.load(course.root)
    wanted = {seal.snapshot: _lock(lab, seal, locks) for seal in lab.seals.mainline}
    absent = [name for name, lock in wanted.items() if not _here(course, lock)]
    if absent:
        raise SnapshotError(f"{lab.id}'s Mainline seal needs upstream's code: labs snapshots fetch {' '.join(absent)}")
    recipes = {seal.name: _recipe(course, lab, seal, wanted[seal.snapshot]) for seal in lab.seals.mainline}
    mixed = [recipes[seal.name] for seal in lab.seals.mainline if MIXED & set(seal.kinds)]
    settings = run_settings(lab)
    settings["limits"] |= PATIENCE
    return settings | {"recipes": {"reference": list(recipes.values()), "submission": mixed}}


def with_probes(lab: Lab, tree: Tree) -> Tree:
    """A tree of the lab, and the probes of its Mainline seal beside its own."""
    return tree | {PROBES: (lab.folder / "mainline" / "probes.py").read_bytes()}


def _lock(lab: Lab, seal: MainlineSeal, locks: dict[str, Lock]) -> Lock:
    if seal.snapshot not in locks:
        raise SnapshotError(f"{lab.id}'s seal {seal.name} names the snapshot {seal.snapshot}, which is not pinned")
    return locks[seal.snapshot]


def _here(course: Course, lock: Lock) -> bool:
    return cache.have(lock) and packages.have(packages.lock_file(course.root, lock.name))


def _recipe(course: Course, lab: Lab, seal: MainlineSeal, lock: Lock) -> dict[str, str]:
    """Paths on this machine, by the names of sandbox.spec.Recipe."""
    pins = packages.lock_file(course.root, lock.name)
    if unpinned := sorted(set(seal.packages) - set(packages.pinned(pins))):
        raise SnapshotError(f"{lab.id}'s seal {seal.name} needs {', '.join(unpinned)}, which {pins.name} does not pin")
    paths: dict[str, Path] = {"program": lab.folder / "mainline" / f"recipe_{seal.name}.py"}
    paths |= {"snapshot": cache.folder(lock)} | ({"packages": packages.folder(pins)} if seal.packages else {})
    return {"name": seal.name} | {name: str(path) for name, path in paths.items()}
