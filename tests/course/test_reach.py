"""Which tests a change touches: too many at worst, by name alone."""

import textwrap

import pytest

from grading.course.reach import Reach, changed_places

OPS = "mini_infra/tiny/ops.py"


def touched(test: str, source: str, probes: str, *names: str, file: str = OPS) -> bool:
    """Whether a test with this body reaches one of the names in ops.py."""
    body = f"def test_it(lab):\n    {test}\n"
    reach = Reach({OPS: textwrap.dedent(source), "probes.py": textwrap.dedent(probes)}, {"tests/test_public.py": body})
    return reach.touches("test_public.py::test_it[some label]", {(file, name) for name in names})


SUMS = """
def double(x):
    return _add(x, x)

def _add(x, y):
    return x + y

def alone(x):
    return x
"""
PROBES = """
from mini_infra.tiny import ops

def twice(x):
    return ops.double(x)

def same(x):
    return ops.alone(x)
"""


@pytest.mark.parametrize(
    ("name", "expected"), [("double", True), ("_add", True), ("alone", False), ("nobody_calls_it", False)]
)
def test_a_probe_is_asked_for_by_text_and_calls_on(name, expected):
    assert touched('lab.run("twice", x=1)', SUMS, PROBES, name) is expected


def test_what_a_test_asks_of_its_fixture_is_no_name_of_the_branch():
    assert not touched('lab.alone("twice")', SUMS, PROBES, "alone")


@pytest.mark.parametrize("call", ['getattr(ops, f"al{op}")(x)', 'getattr(ops, "alone")(x)', "TABLE[op](x)", "b(x)"])
def test_names_that_are_put_together_looked_up_or_given_anew(call):
    probes = "from mini_infra.tiny import ops\nfrom mini_infra.tiny.ops import alone as b\n"
    probes += f"TABLE = {{'x': ops.alone}}\ndef same(op, x):\n    return {call}\n"
    assert touched('lab.run("same")', SUMS, probes, "alone")
    assert not touched('lab.run("same")', SUMS, probes, "_add")


CLASSES = """
import torch
class Base:
    def start(self):
        return self.go()
class Tree(Base):
    def __init__(self):
        self.size = 0
    def go(self):
        return 1
    def stop(self):
        return 2
class Other:
    def go(self):
        return 3
class Layer(torch.nn.Module):
    def forward(self, x):
        return x
class Registry:
    def keep(self, f):
        return f
keep = Registry().keep
@keep
def kept(x):
    return x
"""


@pytest.mark.parametrize(
    ("call", "reached", "not_reached"),
    [
        ("Plain()", [], ["Other.go"]),
        ("Tree()", ["Tree", "Tree.__init__", "Base"], ["Other.go", "Layer.forward"]),
        ("Tree().start()", ["Base.start", "Tree.go"], ["Other.go"]),
        ("Layer()(x)", ["Layer.forward"], ["Tree.stop"]),
        ("1", ["kept", "Registry.keep"], ["Tree.stop"]),
    ],
)
def test_a_method_is_reached_with_its_class(call, reached, not_reached):
    probes = f"from mini_infra.tiny.ops import *\ndef probe(x):\n    return {call}\n"
    assert all(touched('lab.run("probe")', CLASSES, probes, name) for name in reached)
    assert not any(touched('lab.run("probe")', CLASSES, probes, name) for name in not_reached)


def test_a_test_that_nobody_knows_is_touched_by_everything():
    reach = Reach({}, {"tests/test_public.py": "def test_it(lab): pass\n"})
    assert reach.touches("test_public.py::test_other", {("a.py", "f")})
    assert not reach.touches("test_public.py::test_it", {("a.py", "f")})


def test_changes_are_places_until_more_than_definitions_changed():
    old = {OPS: SUMS.encode(), "b.py": b"x = 1\n"}
    assert changed_places(old, old) == set()
    assert changed_places(old, old | {OPS: SUMS.replace("x + y", "y + x").encode()}) == {(OPS, "_add")}
    assert changed_places(old, old | {OPS: SUMS.encode() + b"\n\ndef new():\n    pass\n"}) == {(OPS, "new")}
    for more in ("import math\n", "LIMIT = 3\n", "def broken(:\n"):
        assert changed_places(old, old | {OPS: SUMS.encode() + more.encode()}) is None
    assert changed_places(old, old | {OPS: SUMS.partition("def alone")[0].encode()}) is None
