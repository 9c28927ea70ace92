"""Looks for what tells a hidden test from a public one: arguments, environment, strings on the heap.

lint: REFUSED
wall: PASS
defends: P2 P3
"""

import gc
import os
import sys

_TELLS = ("test_gather", "test_map", "PYTEST", "hidden/", "lab.run", "seed", "select")


def _texts():
    yield from sys.argv + list(os.environ) + list(os.environ.values())
    frame = sys._getframe()
    while frame is not None:
        if "request" in frame.f_locals:
            yield from frame.f_locals["request"]
            yield repr(frame.f_locals["request"]["probe"])
        frame = frame.f_back
    for thing in gc.get_objects():
        if type(thing) is dict and "probe" in thing:
            yield from (key for key in thing if isinstance(key, str))


def _hole(grad_output, ctx):
    found = [text for text in _texts() if any(word in text for word in _TELLS)]
    assert not found, f"LEAK {found[:5]}"
    return _right(grad_output, ctx)
