"""Fixtures that several rooms share; `synthetic.py` stands beside this file, which puts it on the path."""

import subprocess

import pytest
from synthetic import write_course

from grading.course.catalog import Course

LOCK = "name: tiny-core\nrepository: https://example.org/tiny\nref: v1\nversion: '1'\nlicence: MIT\ntree: '{}'\n"
SEAL = "seals: {mainline: [{name: up, snapshot: tiny-core, kinds: [differential], anchors: ['tiny/ops.py::double']}]}\n"
IDENTITY = {"AUTHOR": "ada", "COMMITTER": "ada"}


@pytest.fixture
def tiny(tmp_path) -> Course:
    """The synthetic course, on disk under tmp_path/course."""
    return Course.load(write_course(tmp_path / "course"))


@pytest.fixture
def pinned(tmp_path, monkeypatch) -> Course:
    """The tiny course; l01 has a seal, and its release, which has the reference of l01 and of l02, is in the cache."""
    root = write_course(tmp_path / "course")
    release = tmp_path / "cache/snapshots/tiny-core-1-000000000000"
    for path, content in {
        "LICENSE": b"Do.\n",
        "tiny/ops.py": (root / "mini_infra/tiny/ops.py").read_bytes(),
        "tiny/x.py": b"x = 1\n",
    }.items():
        (release / path).parent.mkdir(parents=True, exist_ok=True)
        (release / path).write_bytes(content)
    monkeypatch.setenv("MAINLINE_CACHE", str(tmp_path / "cache"))
    (root / "upstream_snapshots").mkdir()
    (root / "upstream_snapshots/tiny-core.yaml").write_text(LOCK.format("0" * 64))
    with (root / "challenges/l01_double/lab.yaml").open("a") as file:
        file.write(f"{SEAL}upstream: [tiny-core/tiny/x.py]\n")
    return Course.load(root)


@pytest.fixture
def git(monkeypatch):
    """git(folder, *arguments) -> stdout, with ada's identity and nobody's configuration."""
    for role, name in IDENTITY.items():
        monkeypatch.setenv(f"GIT_{role}_NAME", name)
        monkeypatch.setenv(f"GIT_{role}_EMAIL", f"{name}@example.org")
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", "/dev/null")

    def run(folder, *arguments: str, check: bool = True) -> str:
        done = subprocess.run(["git", *arguments], cwd=folder, capture_output=True, text=True)
        if check:
            assert done.returncode == 0, done.stderr
        return done.stdout if check else f"{done.returncode} {done.stdout}{done.stderr}"

    return run
