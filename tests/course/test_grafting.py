"""Grafts on a small upstream file, and on the pinned releases where they are fetched."""

import subprocess
from pathlib import Path

import pytest

from grading.course import cache, trees
from grading.course.catalog import Course
from grading.course.grafting import graft_file, grafts
from grading.course.snapshots import Lock, load
from grading.course.spans import HoleError

ROOT = Path(__file__).resolve().parents[2]
UPSTREAM = """\
import torch
from toy.registry import register


@register("scale")  # kept
def scale(x, by, eps=1e-8):
    return x * by + eps


class Scheduler:
    @staticmethod
    @register("f")
    def rate(step):
        return 1 / step

    def other(self):
        return self.rate(2)
"""


@pytest.fixture
def lock(tmp_path, monkeypatch):
    """The lock of a toy release that is fetched; its repository has it below python/."""
    monkeypatch.setenv("MAINLINE_CACHE", str(tmp_path))
    head = {"name": "toy", "repository": "https://example.org/toy", "ref": "v1", "version": "1", "licence": "MIT"}
    made = Lock(**head, below="python", tree="1" * 64)
    (cache.folder(made) / "toy").mkdir(parents=True)
    (cache.folder(made) / "toy/core.py").write_text(UPSTREAM)
    return made


def applied(made, tmp_path) -> str:
    """The upstream file after `git apply` of the diff on a tree laid out as upstream's repository."""
    tree = tmp_path / "tree"
    file = tree / made.lock.in_repository(made.path)
    file.parent.mkdir(parents=True)
    file.write_bytes(made.old.encode())
    subprocess.run(["git", "init", "-q", tree], check=True)
    subprocess.run(["git", "apply", "-"], cwd=tree, input=made.diff().encode(), check=True)
    return file.read_bytes().decode()


MINE = """\
import math

import torch

import mini_infra.toy.other as other_F


def scale(x, by, eps=1e-8, shift=None):
    return _helper(x) * by + other_F.eps(eps) + math.pi


def _helper(x):
    return _inner(x) + torch.ones(1)


def _inner(x):
    return x


class Scheduler:
    @staticmethod
    def rate(step):
        return Scheduler._cycle(step)

    @staticmethod
    def _cycle(step):
        return 1
"""


def test_whole_definitions_go_with_what_they_need(lock, tmp_path):
    made = graft_file(lock, "toy/core.py", MINE, ["scale", "Scheduler.rate"])
    assert (made.misfits, made.carried) == (
        [],
        ["scale", "_helper", "_inner", "Scheduler.rate", "Scheduler._cycle"],
    )
    text = applied(made, tmp_path)
    assert text == made.new
    assert '@register("scale")  # kept\ndef scale(x, by, eps=1e-8, shift=None):\n' in text
    assert '    @staticmethod\n    @register("f")\n    def rate(step):\n        return Scheduler._cycle(step)\n' in text
    assert "import math\n" in text
    assert "import toy.other as other_F\n" in text
    assert "mini_infra" not in text
    assert text.count("def _cycle") == text.count("def _helper") == text.count("import torch") == 1
    assert made.diff().startswith("diff --git a/python/toy/core.py b/python/toy/core.py\n--- a/python/toy/core.py\n")


@pytest.mark.parametrize(
    ("signature", "says"),
    [
        ("x, factor, eps=1e-8", "upstream's parameter by is not in yours; your parameter factor is not upstream's"),
        ("x, by", "upstream's parameter eps is not in yours"),
        ("by, x, eps=1e-8", "the places differ: (by, x, eps), upstream (x, by, eps)"),
        ("x, by, eps", "parameter eps has a default upstream"),
        ("x, by, eps=1e-8, *, more", "your parameter more is not upstream's and has no default"),
    ],
)
def test_a_function_that_cannot_take_upstreams_place_is_left_out(lock, signature, says):
    made = graft_file(lock, "toy/core.py", f"def scale({signature}):\n    return x\n", ["scale"])
    assert (made.diff(), made.carried) == ("", [])
    assert made.misfits[0].startswith(f"scale is left out: {says}")


@pytest.mark.parametrize(
    ("source", "says"),
    [
        (
            "LIMIT = 3\ndef scale(x, by, eps=1e-8):\n    return LIMIT\n",
            "it uses LIMIT, which toy/core.py does not have",
        ),
        (
            "def scale(x, by, eps=1e-8):\n    return register(x)\ndef register(x): ...\n",
            "its helper register is something",
        ),
        ("import mini_infra.a\ndef scale(x, by, eps=1e-8):\n    return mini_infra.a.b\n", "it uses mini_infra.…"),
    ],
)
def test_what_cannot_be_carried_is_named(lock, source, says):
    made = graft_file(lock, "toy/core.py", source, ["scale"])
    assert made.misfits[0].startswith(f"scale is left out: {says}")


def test_what_is_no_python_is_an_error(lock):
    with pytest.raises(HoleError, match="line 1: "):
        graft_file(lock, "toy/core.py", "def scale(x):\n", ["scale"])


def test_a_file_without_a_last_newline_and_with_crlf(lock, tmp_path):
    file = cache.folder(lock) / "toy/core.py"
    file.write_bytes(b"def f(x):\r\n    return x")
    made = graft_file(lock, "toy/core.py", "def f(x):\n    y = x\n    return y\n", ["f"])
    assert applied(made, tmp_path) == made.new == "def f(x):\r\n    y = x\r\n    return y"


def fetched(name: str) -> Lock:
    lock = load(ROOT)[name]
    if not cache.have(lock):
        pytest.skip(f"{name} is not fetched: labs snapshots fetch {name}")
    return lock


def test_l29_stands_in_verl_and_slime(tmp_path):
    fetched("verl"), fetched("slime")
    course = Course.load(ROOT)
    lab = course.lab("l29")
    made = grafts(course, lab, trees.reference_tree(course, lab))
    assert [(one.lock.name, one.misfits) for one in made] == [("slime", []), ("verl", [])]
    for one in made:
        assert applied(one, tmp_path / one.lock.name) == one.new
    verl = made[1].new
    assert "@register_adv_est(AdvantageEstimator.GAE)" in verl[: verl.index("def compute_gae_advantage_return(")]
    assert "_packed_deltas" in made[1].carried


def test_an_unwritten_hole_is_left_out():
    fetched("verl"), fetched("slime")
    course = Course.load(ROOT)
    lab = course.lab("l29")
    made = grafts(course, lab, trees.starter_tree(course, lab))
    assert {one.diff() for one in made} == {""}
    assert made[1].misfits == ["compute_gae_advantage_return is left out: it is not written yet"]


def test_a_get_lr_stands_in_megatrons_scheduler(tmp_path):
    path = "megatron/core/optimizer_param_scheduler.py"
    mine = (
        "from bisect import bisect_right\n\nfrom mini_infra.megatron.core.utils import divide\n\n\n"
        "class OptimizerParamScheduler:\n"
        "    def get_lr(self, param_group: dict) -> float:\n"
        "        return self._restart_cycle(self.num_steps) * math.cos(0.0)\n\n"
        "    def _restart_cycle(self, n: int) -> int:\n        return bisect_right([0, 1], n) + divide(4, 2)\n"
    )
    made = graft_file(fetched("megatron-core"), path, mine, ["OptimizerParamScheduler.get_lr"])
    assert (made.misfits, made.carried[1:]) == ([], ["OptimizerParamScheduler._restart_cycle"])
    text = applied(made, tmp_path)
    assert "from bisect import bisect_right\n" in text
    assert "from megatron.core.utils import divide\n" in text
    compile(text, path, "exec")
