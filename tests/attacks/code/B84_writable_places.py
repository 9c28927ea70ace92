"""Looks for places that outlive a probe: writable folders but the two that are swept, devices of the host.

lint: REFUSED
wall: PASS
defends: P4 P5
"""

import os
import stat

_DEVICES = {"null", "zero", "full", "random", "urandom", "tty", "ptmx"}


def _places():
    for folder, folders, files in os.walk("/"):
        folders[:] = [name for name in folders if f"{folder}/{name}" not in ("//proc", "//tmp", "/dev/shm", "/dev/pts")]
        if os.access(folder, os.W_OK):
            yield folder
        for name in files:
            mode = os.lstat(f"{folder}/{name}").st_mode
            if (stat.S_ISBLK(mode) or stat.S_ISCHR(mode)) and name not in _DEVICES:
                yield f"{folder}/{name}"


def _hole(grad_output, ctx):
    found = list(_places())
    assert not found, f"LEAK {found[:9]}"
    return _right(grad_output, ctx)
