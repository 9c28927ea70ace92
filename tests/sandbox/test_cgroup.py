"""Control groups of both versions, on folders that look like theirs (the real ones are tried in test_jail.py)."""

from pathlib import Path

import pytest

from grading.sandbox import cgroup
from grading.sandbox.cgroup import Group, make_group
from grading.sandbox.slots import run_folder, take_slot

V2 = ("memory.max", "memory.swap.max", "pids.max", "cgroup.procs")


@pytest.fixture
def machine(tmp_path, monkeypatch):
    """Version 2, our own group two levels down; only the root hands controllers down."""
    (tmp_path / "user/session").mkdir(parents=True)
    (tmp_path / "cgroup.subtree_control").write_text("")
    monkeypatch.setattr(cgroup, "_mounts", lambda: {"": tmp_path})
    monkeypatch.setattr(cgroup, "_own_groups", lambda: {"": "user/session"})
    return tmp_path


def with_controls(monkeypatch) -> None:
    """A new folder has its control files at once, as in the kernel."""
    real = Path.mkdir

    def mkdir(self, *args, **options):
        real(self, *args, **options)
        for name in V2 if self.name.startswith("labs-6") else ():
            (self / name).write_text("")

    monkeypatch.setattr(Path, "mkdir", mkdir)


def test_version_2_group_is_made_under_the_nearest_ancestor_that_delegates(machine, monkeypatch):
    with_controls(monkeypatch)
    slot = take_slot()
    group = make_group(slot, memory_mb=256, processes=96)
    (folder,) = group.folders
    slot.release()
    assert folder == machine / f"labs-{slot.uid}"
    assert (machine / "cgroup.subtree_control").read_text() == "+memory +pids"
    assert [(folder / name).read_text() for name in V2] == [str(256 << 20), "0", "96", ""]
    assert group.bounds_memory
    (folder / "memory.events").write_text("low 0\nmax 7\noom 2\noom_kill 3\noom_group_kill 0\n")
    assert group.memory_kills() == 3


def test_no_group_where_a_folder_bounds_nothing(machine):
    slot = take_slot()
    assert make_group(slot, memory_mb=256, processes=96) is None
    slot.release()
    assert not (machine / f"labs-{slot.uid}").exists()


def test_version_1_counts_kills_in_another_file(tmp_path):
    (tmp_path / "memory.oom_control").write_text("oom_kill_disable 0\nunder_oom 0\noom_kill 1\n")
    assert Group([tmp_path]).memory_kills() == 1


def test_groups_of_dead_jails_are_swept_and_of_living_ones_kept(tmp_path):
    alive, own = take_slot(), take_slot()
    dead = 500
    for number in (alive.number, own.number, dead):
        (tmp_path / f"labs-{60000 + number}").mkdir()
    cgroup._sweep([tmp_path], keep=own.number)
    left = {path.name for path in tmp_path.iterdir()}
    alive.release()
    own.release()
    assert left == {f"labs-{alive.uid}", f"labs-{own.uid}"}
    assert (run_folder() / f"slot-{dead}").exists()
