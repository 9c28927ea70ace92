"""Looks for the judge's environment, command line and mounts in /proc, and answers right only if nothing of ours shows.

lint: REFUSED
wall: PASS
defends: P5
"""

import glob
import os

_OURS = (b"PYTEST", b"TOKEN", b"SECRET", b"labs-judge", b"challenges", b"hidden", b"SUDO", b"SSH_")


def _readable(path):
    try:
        return open(path, "rb").read()
    except OSError:
        return b""


def _hole(grad_output, ctx):
    paths = glob.glob("/proc/*/environ") + glob.glob("/proc/*/cmdline") + ["/proc/self/mounts"]
    found = [(path, word) for path in paths for word in _OURS if word in _readable(path)]
    assert not found, f"LEAK {found}"
    assert not _readable("/proc/1/environ")
    assert set(os.listdir("/")) <= {
        "dev",
        "engine",
        "lab",
        "lib",
        "lib64",
        "proc",
        "python",
        "site",
        "tmp",
        "usr",
        "etc",
    }, os.listdir("/")
    return _right(grad_output, ctx)
