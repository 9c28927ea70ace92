"""Tests marked `gpu`: a grading of their own runs them, and to every other grading they are not there."""

import json
import os
import stat
from dataclasses import replace
from pathlib import Path

import pytest
from synthetic import write_course

from grading.course.catalog import Course
from grading.course.submission import from_tree
from grading.course.trees import reference_tree, starter_tree
from grading.judge import grade as grading
from grading.judge.grade import grade
from grading.sandbox import binds, jail
from grading.sandbox.spec import JailSpec, arguments, rlimits
from grading.sandbox.trial import Trial

MARKED = '''

@lab.gpu
@lab.contract(1, topic="sum")
def test_on_the_device(lab):
    """The device doubles as well."""
    lab.close(lab.run("double", x=torch.ones(2))[0], 2 * torch.ones(2))
'''
ID = "test_hidden.py::test_on_the_device"


@pytest.fixture
def lab(tmp_path):
    """l01 with a test that needs a device, in name only: it runs anywhere."""
    root = write_course(tmp_path / "course")
    hidden = root / "challenges/l01_double/hidden/test_hidden.py"
    hidden.write_text(hidden.read_text() + MARKED)
    ids = [f"test_hidden.py::test_{name}" for name in ("double", "zero", "negated")]
    (root / "challenges/l01_double/fingerprints.json").write_text(json.dumps({"tests": ids, "mistakes": {}}))
    return Course.load(root).lab("l01")


def graded(lab, seal: str):
    course = Course.load(lab.folder.parents[1])
    answer = from_tree(lab, reference_tree(course, lab), starter_tree(course, lab))
    return grade(course, lab, answer, seed=1, jailed=jail.status().ok, seal=seal)


def test_a_cpu_grading_neither_runs_nor_misses_them(lab):
    report = graded(lab, "patch")
    assert (report.verdict, report.reason) == ("PASS", "")
    assert len(report.tests) == 3
    assert ID not in [test.id for test in report.tests]


def test_a_gpu_grading_runs_nothing_else(lab, monkeypatch):
    monkeypatch.setattr(grading, "gpu_devices", lambda: [Path("/dev/null")])
    report = graded(lab, "gpu")
    assert (report.verdict, report.reason, report.seal) == ("PASS", "", "gpu")
    assert [test.id for test in report.tests] == [ID]


def test_without_a_device_or_a_marked_test_there_is_no_verdict(lab, monkeypatch):
    monkeypatch.setattr(grading, "gpu_devices", list)
    report = graded(lab, "gpu")
    assert (report.verdict, report.reason) == ("INFRA", "this machine has no NVIDIA device in /dev")
    monkeypatch.setattr(grading, "gpu_devices", lambda: [Path("/dev/null")])
    report = graded(Course.load(lab.folder.parents[1]).lab("l02"), "gpu")
    assert (report.verdict, report.reason) == ("INFRA", "l02 has no hidden test marked gpu")


def test_only_a_gpu_jail_shows_devices_and_reserves_at_will(lab, tmp_path, monkeypatch):
    monkeypatch.setattr(binds, "gpu_devices", lambda: [Path("/dev/nvidia0"), Path("/dev/nvidiactl")])
    plain, gpu = (JailSpec(tmp_path, tmp_path, [], lab.limits, files=False, gpu=gpu) for gpu in (False, True))
    shown = ["--dev-bind", "/dev/nvidia0", "/dev/nvidia0", "--dev-bind", "/dev/nvidiactl", "/dev/nvidiactl"]
    with_devices = arguments(gpu)
    at = with_devices.index("--dev-bind")
    assert with_devices[at : at + 6] == shown
    assert with_devices[at + 6 : at + 8] == ["--remount-ro", "/dev"]
    assert with_devices[:at] + with_devices[at + 6 :] == arguments(plain)
    assert rlimits(plain).keys() - rlimits(gpu).keys() == {"as"}


@pytest.mark.skipif(not jail.status().ok or os.geteuid() != 0, reason="takes a jail, and root to make a device")
def test_a_device_works_in_the_jail(tmp_path, monkeypatch):
    """The kernel's random numbers under another name stand for a card: no jail has a device of that name."""
    device = tmp_path / "nvidia0"
    os.mknod(device, stat.S_IFCHR | 0o666, os.makedev(1, 9))
    device.chmod(0o666)
    monkeypatch.setattr(binds, "device_binds", lambda: ["--dev-bind", str(device), "/dev/nvidia0"])
    said = {}
    for gpu in (True, False):
        trial = Trial()
        trial.spec = replace(trial.spec, gpu=gpu)
        with trial:
            said[gpu] = trial.attempt("answer = len(open('/dev/nvidia0', 'rb', buffering=0).read(4))")
    assert said == {True: 4, False: "FileNotFoundError: [Errno 2] No such file or directory: '/dev/nvidia0'"}
