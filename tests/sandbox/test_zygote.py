"""What the zygote does with what a probe leaves behind."""

import os
import sys

from grading.sandbox.zygote import _remove


def test_folders_deeper_than_a_path_and_a_stack_are_removed(tmp_path):
    depth = 3 * sys.getrecursionlimit()
    folder = os.open(tmp_path, os.O_RDONLY)
    for _ in range(depth):
        os.mkdir("d", dir_fd=folder)
        deeper = os.open("d", os.O_RDONLY, dir_fd=folder)
        os.close(folder)
        folder = deeper
    os.close(folder)
    _remove(str(tmp_path / "d"))
    assert list(tmp_path.iterdir()) == []


def test_unreadable_folders_links_and_files_are_removed_and_nothing_beyond(tmp_path):
    (tmp_path / "kept").mkdir()
    (tmp_path / "kept/file").touch()
    (tmp_path / "left/deep").mkdir(parents=True)
    (tmp_path / "left/deep/link").symlink_to(tmp_path / "kept")
    (tmp_path / "left/deep/file").touch()
    (tmp_path / "left/deep").chmod(0)
    _remove(str(tmp_path / "left"))
    assert [str(path.relative_to(tmp_path)) for path in sorted(tmp_path.rglob("*"))] == ["kept", "kept/file"]
