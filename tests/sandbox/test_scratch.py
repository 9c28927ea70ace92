"""Temporary folders: swept when their owner is dead, never before, and never what is not ours."""

import os
import signal
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor

import pytest

from grading.sandbox import scratch
from grading.sandbox.scratch import PREFIX, Scratch

OWNER = "import time; from grading.sandbox.scratch import Scratch; one = Scratch(); "
OWNER += "print(one.path, flush=True); time.sleep(60)"


@pytest.fixture(autouse=True)
def place(tmp_path, monkeypatch):
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    return tmp_path


@pytest.fixture
def owner(place):
    process = subprocess.Popen(
        [sys.executable, "-c", OWNER], stdout=subprocess.PIPE, text=True, env={"TMPDIR": str(place)}
    )
    yield process, process.stdout.readline().strip()
    process.kill()
    process.communicate()


def test_a_folder_is_swept_once_its_owner_is_dead(owner, place):
    process, path = owner
    with Scratch():
        assert os.path.isdir(path)
    process.send_signal(signal.SIGKILL)
    process.wait()
    assert [str(one) for one in scratch.stale()] == [path]
    with Scratch() as fresh:
        assert list(place.iterdir()) == [fresh]
    assert list(place.iterdir()) == []


def test_what_is_not_ours_is_left_alone(place, tmp_path_factory):
    outside = tmp_path_factory.mktemp("outside")
    (place / f"{PREFIX}link").symlink_to(outside)
    (place / f"{PREFIX}file").write_text("")
    (place / "labs-0").mkdir()
    scratch.sweep()
    assert sorted(one.name for one in place.iterdir()) == ["labs-0", f"{PREFIX}file", f"{PREFIX}link"]
    assert outside.is_dir()


def test_many_at_once_never_sweep_each_other(place):
    def use(number: int) -> bool:
        with Scratch() as folder:
            (folder / "mine").write_text(str(number))
            scratch.sweep()
            return (folder / "mine").read_text() == str(number)

    with ThreadPoolExecutor(8) as pool:
        assert all(pool.map(use, range(200)))
    assert list(place.iterdir()) == []
