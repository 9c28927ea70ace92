"""A few points of each series of scripts/faults.py; `make faults` has fifty of each."""

import subprocess
import sys
from pathlib import Path

import pytest

SCRIPT = Path(__file__).parents[2] / "scripts" / "faults.py"
SERIES = {
    "hook": ["--points", "1"],
    "judge": ["--points", "1"],
    "zygote": ["--points", "1"],
    "publisher": ["--points", "3"],
    "disk": [],
    "race": ["--pushes", "3"],
}


@pytest.mark.parametrize("name", SERIES)
def test_a_fault_loses_nothing_and_leaves_nothing(name):
    command = [sys.executable, str(SCRIPT), "--only", name, *SERIES[name]]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300)
    print(done.stdout)  # the seed
    assert done.returncode == 0, done.stdout + done.stderr


ENDS_MEANWHILE = """
import os, subprocess, sys
sys.path.insert(0, sys.argv[1])
import faults_site

child = subprocess.Popen(["sleep", "60"])

def after_its_end(look):
    def looked(*place):
        child.kill()
        child.wait()
        return look(*place)
    return looked

os.listdir, os.scandir = after_its_end(os.listdir), after_its_end(os.scandir)
assert faults_site._children(child.pid) == []
"""


def test_a_process_that_ends_while_it_is_looked_at_has_no_children():
    command = [sys.executable, "-c", ENDS_MEANWHILE, str(SCRIPT.parent)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60)
    assert (done.returncode, done.stderr) == (0, "")
