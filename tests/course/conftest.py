"""A course of three labs over four files, small enough to read here."""

import pytest

from grading.course.catalog import Course

CORE = '''\
"""Core."""

from mini_infra.toy import helpers


class Engine:
    """Counts."""

    def start(self, n: int) -> int:
        """n, one higher. Ünïcode."""
        return helpers.up(n)

    def stop(self, n):
        """n, one lower."""
        from mini_infra.toy.late import down

        return down(n)


def _only_for_stop(n):
    return n


def given(n):
    return n
'''
FILES = {
    "pyproject.toml": '[project]\nname = "mainline"\nversion = "0.9"\nrequires-python = ">=3.11"\n'
    'dependencies = ["torch==2.13.0"]\n',
    "mini_infra/__init__.py": "",
    "mini_infra/toy/__init__.py": "",
    "mini_infra/toy/core.py": CORE,
    "mini_infra/toy/helpers.py": "def up(n):\n    return n + 1  # the answer of l01\n",
    "mini_infra/toy/late.py": "def down(n):\n    return n - 1\n",
    "mini_infra/toy/unneeded.py": "SECRET = 1\n",
    "challenges/course.yaml": "title: Toy\nchapters:\n  - {id: 1, title: One, sentence: A.}\norder: [l01, l02, l03]\n",
    "challenges/l01_up/lab.yaml": "id: l01\nslug: up\ntitle: Up\nchapter: 1\nstars: 1\nhours: 0.5\n"
    "holes:\n  - mini_infra/toy/helpers.py::up\n",
    "challenges/l02_start/lab.yaml": "id: l02\nslug: start\ntitle: Start\nchapter: 1\nstars: 2\nhours: 1\nuses: [l01]\n"
    "holes:\n  - mini_infra/toy/core.py::Engine.start\nassets: [data/table.csv]\npackages: [tiny==1.0]\n",
    "challenges/l02_start/data/table.csv": "1,2\n",
    "challenges/l03_stop/lab.yaml": "id: l03\nslug: stop\ntitle: Stop\nchapter: 1\nstars: 3\nhours: 2\nneeds: [l02]\n"
    "holes:\n  - mini_infra/toy/core.py::Engine.stop\ndrop:\n  - mini_infra/toy/core.py::_only_for_stop\n",
}


def write(root, files: dict[str, str]) -> None:
    for path, text in files.items():
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_bytes(text.encode())


@pytest.fixture
def toy(tmp_path):
    """The folder of the toy course, complete."""
    root = tmp_path / "course"
    write(root, FILES)
    for folder in ("l01_up", "l02_start", "l03_stop"):
        lab = f"challenges/{folder}"
        write(root, {f"{lab}/task.md": f"# {folder}\n", f"{lab}/tests/test_public.py": "def test_it(): ...\n"})
        write(
            root, {f"{lab}/probes.py": "from mini_infra.toy import core\n", f"{lab}/hidden/test_x.py": "HIDDEN = 1\n"}
        )
    return root


@pytest.fixture
def course(toy) -> Course:
    return Course.load(toy)


@pytest.fixture
def edit(toy):
    """edit(path, old, new): replace text in a file of the toy course."""

    def run(path: str, old: str, new: str) -> None:
        text = (toy / path).read_text()
        assert old in text
        (toy / path).write_text(text.replace(old, new))

    return run
