"""Looks for a second tree that holds the reference: mounts, siblings of /lab, other processes' roots, import paths.

lint: REFUSED
wall: PASS
defends: P14 P5
"""

import glob
import os
import sys

_PLACES = ["/ref", "/reference", "/lab/../ref", "/lab/../reference", "/lab/reference", "/main", "/home", "/root"]


def _lines(path):
    with open(path) as file:
        return list(file)


def _trees():
    yield from (place for place in _PLACES if os.path.exists(place))
    yield from (place for place in sys.path if os.path.exists(f"{place}/mini_infra") and place != "/lab")
    yield from (path for path in glob.glob("/proc/[0-9]*/root/*/mini_infra") if "/lab/" not in path)
    yield from (line for line in _lines("/proc/self/mounts") if "mini_infra" in line or "reference" in line)
    yield from (path for path in glob.glob("/*/mini_infra") + glob.glob("/*/*/mini_infra") if path != "/lab/mini_infra")


def _hole(grad_output, ctx):
    found = list(_trees())
    assert not found, f"LEAK {found[:5]}"
    return _right(grad_output, ctx)
