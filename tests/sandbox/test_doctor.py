"""`labs doctor`: each protection is tried and held here; what a machine lacks is told with its fix."""

import os
from importlib import metadata
from types import SimpleNamespace

import pytest

from grading.sandbox import doctor, jail, protections, remedies
from grading.sandbox.jail import JailStatus

STATUS = jail.status()
needs_jail = pytest.mark.skipif(not STATUS.ok, reason=f"no jail here: {STATUS.reason} ({STATUS.fix})")
PROTECTIONS = [*protections.ATTEMPTS, "surviving child", "memory bomb"]


@pytest.fixture(scope="module")
def checks():
    return {check.name: check for check in doctor.run_checks(None)}


def test_machine_is_described(checks):
    assert list(checks)[:6] == ["python", "torch", "cores", "memory", "git", "gpu"]
    assert checks["torch"].detail.startswith(metadata.version("torch"))
    assert "build" in checks["torch"].detail
    assert checks["cores"].detail == str(len(os.sched_getaffinity(0)))
    assert checks["gpu"].held is None


@needs_jail
@pytest.mark.parametrize("name", [name for name in PROTECTIONS if name != "memory bomb"])
def test_protection_holds(checks, name):
    check = checks[f"jail: {name}"]
    assert (check.held, check.fix) == (True, ""), check.detail


@needs_jail
def test_memory_bomb_is_bounded_where_a_group_can_be_made(checks):
    check = checks["jail: memory bomb"]
    if os.geteuid() != 0:
        pytest.skip(f"an ordinary user may have no control group: {check.detail}")
    assert (check.held, check.detail) == (True, "eight processes were stopped at 128 MB together")


def test_every_miss_has_a_fix(checks):
    assert [check.name for check in checks.values() if check.held is False and not check.fix] == []


def test_without_a_jail_the_reason_and_the_fix_are_told(monkeypatch):
    missing = JailStatus(False, "", "bubblewrap is not installed", "apt-get install bubblewrap")
    monkeypatch.setattr(jail, "status", lambda: missing)
    check = next(iter(doctor._jail()))
    assert (check.name, check.held, check.fix) == ("jail", False, "apt-get install bubblewrap")
    assert check.detail.startswith("bubblewrap is not installed; `labs test` runs without a jail")


@pytest.mark.parametrize(
    ("message", "fix"),
    [
        ("bubblewrap is not installed: apt-get install bubblewrap", "apt-get install bubblewrap"),
        ("bwrap: setting up uid map: Permission denied", remedies.APPARMOR),
        ("bwrap: loopback: Failed RTM_NEWADDR: Operation not permitted", remedies.APPARMOR),
        ("bwrap: Can't find source path HOME/.pyenv: Permission denied", remedies.FIXES["Can't find source path"]),
    ],
)
def test_known_messages_have_their_fix(message, fix):
    assert remedies.fix_for(message) == fix


def test_cuda_build_without_a_gpu_is_told_about_the_cpu_wheels(tmp_path, monkeypatch):
    version = tmp_path / "version.py"
    version.write_text(
        "from typing import Optional\n\n__version__ = '2.13.0'\ncuda: Optional[str] = '13.0'\nhip = None\n"
    )
    assert doctor._cuda_version(version) == "13.0"
    version.write_text("cuda: Optional[str] = None\nhip: Optional[str] = None\n")
    assert doctor._cuda_version(version) == ""
    monkeypatch.setattr(doctor, "_cuda_version", lambda file: "13.0")
    monkeypatch.setattr(doctor.binds, "gpu_devices", list)
    check = doctor._torch()
    assert (check.held, "CUDA 13.0 build" in check.detail, "CPU in the selector" in check.fix) == (True, True, True)


def test_labs_that_cannot_be_done_here_are_named():
    roomy, huge = SimpleNamespace(memory_mb=64), SimpleNamespace(memory_mb=1 << 30)
    course = SimpleNamespace(
        labs=[
            SimpleNamespace(id="l01", packages=["numpy"], limits=roomy),
            SimpleNamespace(id="l02", packages=["no-such-package"], limits=roomy),
            SimpleNamespace(id="l03", packages=[], limits=huge),
        ]
    )
    check = doctor._labs(course)
    assert check.held is False
    assert check.detail == "1 of 3 can be done here; l02 lacks no-such-package, l03 lacks memory"
    assert check.fix == "pip install no-such-package"
    assert doctor._labs(SimpleNamespace(labs=course.labs[:1])).held is True
