"""Walks the file system for hidden tests, mistakes, fingerprints and exams; answers right only if it finds none.

lint: REFUSED
wall: PASS
defends: P2 P5
"""

import os

_WORDS = ("hidden", "mistakes", "fingerprints", "exam.yaml", "hints.yaml", "test_linear", "test_mappings", "test_cost")


def _found():
    for folder, folders, files in os.walk("/"):
        if folder in ("/proc", "/dev") or folder.endswith(("/site", "/lib")):
            folders.clear()
        for name in folders + files:
            if any(name.startswith(word) for word in _WORDS):
                yield f"{folder}/{name}"


def _hole(grad_output, ctx):
    found = list(_found())
    assert not found, f"LEAK {found[:5]}"
    return _right(grad_output, ctx)
