"""Edits to the probes, the public tests, the settings, and files that pytest or Python would load by themselves."""

from ground import OPS

EXPECTED = "FAIL"
DEFENDS = "P9: trusted tree plus editable blobs, nothing else"
ELSEWHERE = [".lab.json", "probes.py", "pyproject.toml", "tests/test_public.py"]
ADDED = [".github/workflows/grade.yml", "conftest.py", "sitecustomize.py", "usercustomize.py", "x.pth"]


def commits(ground):
    """The probes would answer right for a hole that is not filled."""
    cheat = b"def double(x):\n    return 2 * x\n\n\ndef negated(x):\n    return -x\n"
    yield ground.commit(dict.fromkeys([*ELSEWHERE, *ADDED], cheat) | {OPS: ground.starter[OPS] + b"# mine\n"})


def check(ground, report):
    assert report.not_graded == sorted([*ELSEWHERE, *ADDED])
