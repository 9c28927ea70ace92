"""Leaves files that Python or pytest load by themselves in every folder it can write to.

lint: REFUSED
wall: PASS
defends: P5
"""

import os

_NAMES = ("sitecustomize.py", "usercustomize.py", "x.pth", "conftest.py", "pytest.ini", "x.dist-info/entry_points.txt")


def _hole(grad_output, ctx):
    made = []
    for folder in ("/tmp", "/dev/shm", "/lab", "/site", "/engine", "/engine/grading", "/python", "/dev", "/", "."):
        for name in _NAMES:
            try:
                os.makedirs(os.path.dirname(f"{folder}/{name}"), exist_ok=True)
                os.close(os.open(f"{folder}/{name}", os.O_CREAT | os.O_WRONLY))
                made.append(f"{folder}/{name}")
            except OSError:
                continue
    assert all(path.startswith(("/tmp", "/dev/shm", "./")) for path in made), made
    return _right(grad_output, ctx)
