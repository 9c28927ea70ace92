"""What confine() leaves a process with, tried without a jail (the jail's own tests try the whole)."""

import json
import os
import subprocess
import sys

import pytest

linux_only = pytest.mark.skipif(sys.platform != "linux", reason="prctl and capabilities are Linux's")
root_only = pytest.mark.skipif(os.geteuid() != 0, reason="only root can change its uid")

REPORT = """
import json, os, resource, signal, sys
from grading.sandbox.confine import confine
confine(**json.loads(sys.argv[1]))
import ctypes
libc = ctypes.CDLL(None)
death = ctypes.c_int()
libc.prctl(2, ctypes.byref(death), 0, 0, 0)
status = dict(line.split(":\\t", 1) for line in open("/proc/thread-self/status").read().splitlines() if ":\\t" in line)
print(json.dumps({
    "status": status, "uids": os.getresuid(), "gids": os.getresgid(), "groups": os.getgroups(),
    "dumpable": libc.prctl(3, 0, 0, 0, 0), "death": death.value,
    "interrupt": signal.getsignal(signal.SIGINT) == signal.SIG_DFL,
    "limits": [resource.getrlimit(resource.RLIMIT_CORE), resource.getrlimit(resource.RLIMIT_FSIZE)],
}))
"""


def confined(uid: int | None, **rlimits: int) -> dict:
    argument = json.dumps({"uid": uid, "rlimits": rlimits})
    done = subprocess.run([sys.executable, "-c", REPORT, argument], capture_output=True, text=True, check=True)
    return json.loads(done.stdout)


@linux_only
@root_only
def test_root_gives_up_everything():
    found = confined(60999, core=0, fsize=4096)
    assert found["uids"] == found["gids"] == [60999, 60999, 60999]
    assert found["groups"] == []
    capabilities = ("CapInh", "CapPrm", "CapEff", "CapBnd", "CapAmb")
    assert {found["status"][name] for name in capabilities} == {"0" * 16}
    assert found["status"]["NoNewPrivs"] == "1"
    assert (found["dumpable"], found["death"], found["interrupt"]) == (0, 9, True)
    assert found["limits"] == [[0, 0], [4096, 4096]]


@linux_only
def test_without_a_uid_the_rest_still_applies():
    found = confined(None, core=0)
    assert found["uids"] == list(os.getresuid())
    assert {found["status"][name] for name in ("CapInh", "CapPrm", "CapEff", "CapAmb")} == {"0" * 16}
    assert (found["status"]["NoNewPrivs"], found["dumpable"], found["death"]) == ("1", 0, 9)
    assert found["limits"][0] == [0, 0]


@linux_only
def test_a_limit_is_never_raised():
    program = (
        "import resource; from grading.sandbox.confine import confine; "
        "resource.setrlimit(resource.RLIMIT_NOFILE, (64, 64)); "
        "confine(None, {'nofile': 4096}); print(resource.getrlimit(resource.RLIMIT_NOFILE))"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "(64, 64)"


@linux_only
@root_only
def test_a_uid_that_cannot_be_taken_is_an_error():
    program = (
        "import os; from grading.sandbox.confine import confine; os.setresuid(60998, 60998, 60998); confine(60999, {})"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert done.returncode == 1
    assert "PermissionError" in done.stderr
