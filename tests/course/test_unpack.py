"""Hostile and damaged archives leave nothing behind and say in a line what was wrong."""

import io
import tarfile
import zipfile

import pytest

from grading.course import unpack as unpacking
from grading.course.snapshots import SnapshotError
from grading.course.unpack import unpack


def tar(path, members):
    """Write a .tar.gz of (name, content or target of a link or number of a member's type)."""
    with tarfile.open(path, "w:gz") as archive:
        for name, content in members:
            one = tarfile.TarInfo(name)
            if isinstance(content, str):
                one.type, one.linkname = tarfile.SYMTYPE, content
                archive.addfile(one)
            elif isinstance(content, bytes):
                one.size = len(content)
                archive.addfile(one, io.BytesIO(content))
            else:
                one.type, one.linkname = b"%d" % content, "big/a.py"
                archive.addfile(one)
    return path


def wheel(path, members):
    with zipfile.ZipFile(path, "w") as archive:
        for name, content, mode in members:
            one = zipfile.ZipInfo(name)
            one.external_attr = mode << 16
            archive.writestr(one, content)
    return path


@pytest.fixture
def into(tmp_path):
    folder = tmp_path / "into"
    folder.mkdir()
    return folder


def test_a_source_archive_loses_its_top_folder_and_what_nobody_wants(tmp_path, into):
    made = tar(tmp_path / "big.tar.gz", [("big/big/a.py", b"a = 1\n"), ("big/big/sub/b.py", b""), ("big/x.png", b"1")])
    unpack(made, into, ["big/*.py"])
    assert sorted(one.relative_to(into).as_posix() for one in into.rglob("*.*")) == ["big/a.py", "big/sub/b.py"]
    assert (into / "big/a.py").read_bytes() == b"a = 1\n"


def test_a_wheel_keeps_its_paths(tmp_path, into):
    unpack(wheel(tmp_path / "big.whl", [("big/a.py", "a", 0o100644)]), into, [])
    assert (into / "big/a.py").read_text() == "a"


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("/etc/a.py", b""),
        ("../a.py", b""),
        ("big/../../a.py", b""),
        ("big/a.py", "/etc/passwd"),
        ("big/a.py", "../../a"),
        ("big/b.py", int(tarfile.LNKTYPE)),
        ("big/fifo", int(tarfile.FIFOTYPE)),
        ("big/device", int(tarfile.CHRTYPE)),
        ("big/C:\\a.py", b""),
        ("big/\x1b[2J.py", b""),
    ],
)
def test_a_hostile_tar_is_refused(tmp_path, into, name, content):
    with pytest.raises(SnapshotError, match=r"^big\.tar\.gz: holds .*; nothing of it was kept$"):
        unpack(tar(tmp_path / "big.tar.gz", [(name, content)]), into, [])
    assert not list(tmp_path.rglob("*.py"))


@pytest.mark.parametrize(
    ("name", "mode"),
    [("/a.py", 0), ("../a.py", 0), ("big/../../a.py", 0), ("big/a.py", 0o120777), ("big/a.py", 0o010644)],
)
def test_a_hostile_wheel_is_refused(tmp_path, into, name, mode):
    with pytest.raises(SnapshotError, match=r"^big\.whl: holds .*; nothing of it was kept$"):
        unpack(wheel(tmp_path / "big.whl", [(name, "/etc/passwd", mode)]), into, [])
    assert not list(tmp_path.rglob("*.py"))


def test_a_name_twice_and_a_file_for_a_folder_are_refused(tmp_path, into):
    with pytest.raises(SnapshotError, match="twice"):
        unpack(tar(tmp_path / "a.tar.gz", [("t/a.py", b"1"), ("t/a.py", b"2")]), into, [])
    with pytest.raises(SnapshotError, match="twice"):
        unpack(tar(tmp_path / "b.tar.gz", [("t/b.py", b"1"), ("t/b.py/c.py", b"2")]), into, [])


def test_a_bomb_stops_at_the_limit(tmp_path, into, monkeypatch):
    monkeypatch.setattr(unpacking, "MOST_BYTES", 1 << 20)
    bomb = tar(tmp_path / "big.tar.gz", [("t/a.py", b"\0" * (3 << 19))])
    with pytest.raises(SnapshotError, match="unpacks to more than 1 MiB"):
        unpack(bomb, into, [])
    monkeypatch.setattr(unpacking, "MOST_FILES", 2)
    with pytest.raises(SnapshotError, match="more than 2 files"):
        unpack(tar(tmp_path / "many.tar.gz", [(f"t/{n}.py", b"") for n in range(3)]), into, [])


@pytest.mark.parametrize("name", ["big.tar.gz", "big.whl"])
@pytest.mark.parametrize("keep", [0, 0.5, 0.98])
def test_a_damaged_archive_is_an_error_of_one_line(tmp_path, into, name, keep):
    content = bytes(range(256)) * 400
    whole = (
        tar(tmp_path / name, [("t/a.py", content)]) if "tar" in name else wheel(tmp_path / name, [("a", content, 0)])
    )
    data = whole.read_bytes()
    whole.write_bytes(data[: int(len(data) * keep)])
    with pytest.raises(SnapshotError, match=rf"^{name} cannot be unpacked \(.*\); nothing of it was kept$"):
        unpack(whole, into, [])
