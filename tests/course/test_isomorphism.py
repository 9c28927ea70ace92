"""`labs snapshots diff`: mini_infra against an upstream of a few lines, and against the real ones."""

import json
import sys
from pathlib import Path

import pytest

from grading.cli.main import main
from grading.course import cache, trees
from grading.course.catalog import Course
from grading.course.isomorphism import FILE, Mirror, compare, mirrored
from grading.course.snapshots import load
from tests.course.conftest import FILES, write

ROOT = Path(__file__).resolve().parents[2]
PINNED = load(ROOT)
LOCK = "name: toy-core\npackage: toy\nrepository: https://example.org/toy\nref: v1\nversion: '1'\nlicence: MIT\n"
LOCK += f"tree: '{'0' * 64}'\n"
UPSTREAM = """\
class Engine(Base):
    def start(self, n, *, fast=False): ...
    def _wind_up(self): ...


if FAST:
    def run(a): ...
else:
    def run(a, b): ...


def scatter(tensor, group, dim=0, *args, **options): ...
def gather(tensor, flag=True, group=None): ...
async def later(): ...


@dataclass
class Config:
    size: int = 1
    depth: int = 1


class Request:
    def __init__(self, rid, tokens): ...
"""
MINI = """\
class Engine:
    def start(self, n): ...
    def _windup(self): ...


def run(a, b):
    def local(c): ...


def scatter(
    tensor,
    grp,
    dim=0,
    *rest,
): ...
def gather(tensor, group, flag=True): ...
def later(): ...


@dataclass
class Config:
    depth: int = 1
    size: int = 1
    width: int = 1


@dataclass
class Request:
    tokens: list
    row: int


class Helper:
    def help(self): ...
"""
NEW = "def tick(): ...\n"
FOUND = """\
mini_infra/toy/core.py:3: function Engine._windup is not upstream's, which has Engine._wind_up; {}Engine._windup
mini_infra/toy/core.py:12: parameter grp of scatter is not upstream's, which has group there; {}scatter.grp
mini_infra/toy/core.py:14: parameter *rest of scatter is not upstream's, which has *args there; {}scatter.*rest
mini_infra/toy/core.py:16: gather takes (tensor, group, flag) in this order, upstream (tensor, flag, group); {}gather
mini_infra/toy/core.py:17: later: function here, async function upstream; {}later
mini_infra/toy/core.py:24: parameter width of Config is not upstream's; {}Config.width
mini_infra/toy/core.py:21: Config takes (depth, size) in this order, upstream (size, depth); {}Config
mini_infra/toy/core.py:30: parameter row of Request is not upstream's; {}Request.row
mini_infra/toy/core.py:33: class Helper is not upstream's; {}Helper
"""
FOUND = FOUND.replace("{}", "do as upstream, or say why in mini_infra/isomorphism.yaml: toy/core.py::")
FOUND += (
    "mini_infra/toy/new.py:1: function tick: upstream has no such file; "
    "do as upstream, or say why in mini_infra/isomorphism.yaml: toy/new.py::tick\n"
)
KEYS = [line.rpartition(": ")[2] for line in FOUND.splitlines()]


@pytest.fixture
def diff(tmp_path, monkeypatch, capsys):
    """diff(…) -> exit code, stdout, stderr, on a course of nine differences in one file and one beside it."""
    root = tmp_path / "course"
    kept = {path: FILES[path] for path in ("pyproject.toml", "challenges/course.yaml")}
    kept["challenges/course.yaml"] = kept["challenges/course.yaml"].replace("[l01, l02, l03]", "[]")
    other = LOCK.replace("toy", "other")
    write(root, {**kept, "upstream_snapshots/toy-core.yaml": LOCK, "upstream_snapshots/other-core.yaml": other})
    write(root, {"mini_infra/toy/__init__.py": "", "mini_infra/toy/core.py": MINI, "mini_infra/toy/new.py": NEW})
    write(tmp_path / "cache/snapshots/toy-core-1-000000000000/toy", {"__init__.py": "", "core.py": UPSTREAM})
    monkeypatch.setenv("MAINLINE_CACHE", str(tmp_path / "cache"))

    def run(*arguments: str, reasons: str = "") -> tuple[int, str, str]:
        write(root, {FILE: reasons} if reasons else {})
        monkeypatch.setattr(sys, "argv", ["labs", "snapshots", "diff", "--course", str(root), *arguments])
        with pytest.raises(SystemExit) as ended:
            main()
        return ended.value.code, *capsys.readouterr()

    return run


def explained(*keys: str) -> str:
    return "names:\n" + "".join(f"  {key}: on purpose\n" for key in keys)


def test_every_difference_is_named_with_its_line(diff):
    assert diff() == (1, FOUND + "toy-core 1: 12 symbols; differences explained: 0, errors: 10\n", "")


def test_explained_differences_are_none(diff):
    assert diff(reasons=explained(*KEYS)) == (0, "toy-core 1: 12 symbols; differences explained: 10, errors: 0\n", "")


def test_one_without_a_reason_is_left(diff):
    code, out, _ = diff(reasons=explained(*KEYS[1:]))
    assert (code, out.splitlines()[0]) == (1, FOUND.splitlines()[0])
    assert out.splitlines()[1:] == ["toy-core 1: 12 symbols; differences explained: 9, errors: 1"]


def test_stale_entries_are_errors(diff, tmp_path):
    write(tmp_path / "course/mini_infra/other", {"__init__.py": ""})
    reasons = explained(*KEYS, "toy/core.py::gone", "other/core.py::not_asked")
    reasons += "behaviour:\n  toy/core.py::run: does it twice\n  toy/core.py::Helper: only here\n"
    assert diff("toy-core", reasons=reasons) == (
        1,
        "mini_infra/isomorphism.yaml:12: toy/core.py::gone: no difference (any more); take it out\n"
        "mini_infra/isomorphism.yaml:16: toy/core.py::Helper: not a symbol of both sides; take it out\n"
        "toy-core 1: 12 symbols; differences explained: 10, errors: 2\n",
        "",
    )


def test_json_has_all_with_their_reasons(diff):
    code, out, _ = diff("--json", reasons=explained(*KEYS))
    rows = json.loads(out)
    assert (code, [row["entry"] for row in rows]) == (0, KEYS)
    assert rows[1] == {
        "name": "toy-core",
        "version": "1",
        "what": "parameter",
        "file": "mini_infra/toy/core.py",
        "line": 12,
        "entry": "toy/core.py::scatter.grp",
        "says": "parameter grp of scatter is not upstream's, which has group there",
        "reason": "on purpose",
    }
    assert [row["what"] for row in rows].count("order") == 2


def test_an_empty_cache_says_which_fetch(diff, tmp_path, monkeypatch):
    monkeypatch.setenv("MAINLINE_CACHE", str(tmp_path / "empty"))
    assert diff() == (3, "", "labs: toy-core 1 is not fetched yet: labs snapshots fetch toy-core\n")


@pytest.mark.parametrize(
    ("reasons", "says"),
    [
        (
            explained(KEYS[0], "other/core.py::f"),
            "mini_infra/isomorphism.yaml:3: other/core.py::f: mini_infra mirrors no such release; take it out",
        ),
        ("name: {}\n", "mini_infra/isomorphism.yaml:1: unknown key 'name' (did you mean 'names'?)"),
        (
            explained("toy/core.py::a", "toy/core.py::a"),
            "mini_infra/isomorphism.yaml:3: 'toy/core.py::a' stands here twice",
        ),
    ],
)
def test_a_wrong_file_is_one_line(diff, reasons, says):
    assert diff(reasons=reasons) == (4, "", f"labs: {says}\n")


def test_what_cannot_be_parsed_is_one_line(diff, tmp_path):
    write(tmp_path / "course", {"mini_infra/toy/core.py": "x = 1\ndef f(:\n"})
    assert diff() == (4, "", "labs: mini_infra/toy/core.py: line 2: invalid syntax\n")


def test_no_branch_carries_the_reasons(toy):
    """They name what the reference does."""
    write(toy, {FILE: explained("toy/helpers.py::up")})
    course = Course.load(toy)
    made = [make(course, lab) for lab in course.labs for make in (trees.snapshot_tree, trees.starter_tree)]
    assert [path for tree in made for path in tree if "isomorphism" in path] == []


@pytest.mark.parametrize("name", [name for name, lock in PINNED.items() if mirrored(ROOT, lock)])
def test_the_course_explains_every_difference(name):
    lock = PINNED[name]
    if not cache.have(lock):
        pytest.skip(f"{name} is not fetched: labs snapshots fetch {name}")
    found = compare(ROOT, Mirror(ROOT, lock, cache.folder(lock)))
    assert [str(one) for one in found if not one.reason] == []
