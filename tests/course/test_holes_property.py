"""Holes hold for any module: generated ones, mini_infra's, and a real package's."""

import ast
import gc
import importlib.util
import os
import random
import sys
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from modules import modules

from grading.course.holes import Changes, HoleError, changes, definitions, excise, graft, remove, splice
from grading.course.inserts import carried
from grading.course.spans import Definition, module

ROOT = Path(__file__).parents[2]
MINI_INFRA = sorted((ROOT / "mini_infra").rglob("*.py"))
PROPERTY = settings(max_examples=50, deadline=None, suppress_health_check=list(HealthCheck))
DRAWN = 300  # definitions of the real package in a quick run
DRAWN_FROM_ONE = 4  # of them from one file, so that not every file has to be parsed
DRAWN_BELOW = 40_000  # bytes of a file in a quick run: each definition costs two readings of its file


@PROPERTY
@given(modules())
def test_generated(src):
    for name, one in definitions(src).items():
        if one.kind != "class":
            check_excision(src, name, one)
            check_patch(src, name)
        check_removal(src, name, one)


@PROPERTY
@given(modules(), modules())
def test_graft_carries_every_definition(old, new):
    """A patch is refused, or each of its functions stands in the result as the patch has it."""
    assert graft(old, old) == old
    assert changes(new, new) == changes(old, old) == Changes()
    try:
        text = graft(old, new)
    except HoleError:
        return
    after = carried(module(text))
    for name, one in carried(module(new)).items():
        if one.kind != "class":
            assert ast.dump(after[name].node) == ast.dump(one.node)


@pytest.mark.parametrize("path", MINI_INFRA, ids=lambda path: path.relative_to(ROOT).as_posix())
def test_mini_infra(path):
    src = path.read_bytes().decode()
    for name, one in definitions(src).items():
        if one.kind != "class":
            check_excision(src, name, one)
        check_removal(src, name, one)


@pytest.fixture(autouse=True)
def without_gc():
    """Thousands of syntax trees, none of them cyclic: collecting would be half of the time."""
    gc.disable()
    yield
    gc.enable()


def test_torch_distributed():
    """The definitions of a large package that was not written for us; a failure prints the seed of the draw."""
    seed = random.randrange(2**32)
    print("seed", seed)
    draw, whole = random.Random(seed), bool(os.environ.get("MAINLINE_ALL_DEFINITIONS"))
    paths = sorted(_package("torch").joinpath("distributed").rglob("*.py"))
    left = sys.maxsize if whole else DRAWN
    if not whole:
        paths = draw.sample([path for path in paths if path.stat().st_size < DRAWN_BELOW], DRAWN)
    for path in paths:
        src = path.read_bytes().decode()
        found = list(definitions(src).items())
        for name, one in found if whole else draw.sample(found, min(len(found), left, DRAWN_FROM_ONE)):
            check_removal(src, name, one) if one.kind == "class" else check_excision(src, name, one)
            left -= 1
    assert whole or left == 0


def check_excision(src: str, name: str, one: Definition) -> None:
    """The body is one raise, the docstring stays, nothing else moves, and the donor brings it all back."""
    cut = excise(src, name, 'l05: "é"')
    there = definitions(cut)[name]
    assert cut[: there.start] == src[: one.start]
    assert cut[there.end :] == src[one.end :]
    assert ast.get_docstring(there.node, clean=False) == ast.get_docstring(one.node, clean=False)
    documented = ast.get_docstring(there.node) is not None
    assert [ast.unparse(node) for node in there.node.body[documented:]] == ["raise NotImplementedError('l05: \"é\"')"]
    if one.node.body[documented:]:
        assert "secret" not in cut[there.start : there.end]
    assert splice(cut, name, src) == src


def check_removal(src: str, name: str, one: Definition) -> None:
    """The name is gone, and every definition that does not lie around or inside it has the same text."""
    rest = remove(src, name)
    after = definitions(rest)
    assert name not in after
    for other, same in definitions(src).items():
        apart = same.end <= one.start or same.start >= one.end
        if apart and not other.startswith(name + "."):
            there = after[other]
            assert rest[there.start : there.end] == src[same.start : same.end]


def check_patch(src: str, name: str) -> None:
    """What was cut out is seen as the change that it is, and the patch that carries it brings it back."""
    if name in carried(module(src)):
        cut = excise(src, name, "l05")
        assert changes(cut, src).changed == [name]
        assert changes(cut, src).other == []
        assert graft(cut, src) == src


def _package(name: str) -> Path:
    return Path(importlib.util.find_spec(name).origin).parent
