"""The lint refuses what table B of the attacks lists, names line and reason, and lets ordinary torch code pass."""

import pytest

from grading.course.models import Lab
from grading.sandbox.lint import lint

PATH = "mini_infra/megatron/core/layers.py"
CLOSURE = [
    PATH,
    "mini_infra/__init__.py",
    "mini_infra/megatron/core/mappings.py",
    "mini_infra/megatron/core/__init__.py",
]
STARTER = '''"""Layers."""

import os
import torch
from mini_infra.megatron.core import mappings


class Linear(torch.nn.Module):
    def save(self, path):
        torch.save(self.state_dict(), path)

    def forward(self, x):
        """y = x A"""
        raise NotImplementedError("l05: write Linear.forward")
'''
HOLE = '        raise NotImplementedError("l05: write Linear.forward")\n'


def lab(**changes) -> Lab:
    given = {
        "id": "l05",
        "slug": "x",
        "title": "x",
        "chapter": 1,
        "stars": 1,
        "hours": 1,
        "holes": [f"{PATH}::Linear.forward"],
    }
    return Lab(**given | changes)


def patch(body: str, top: str = "") -> str:
    """The starter with `body` in the hole and `top` after the imports."""
    indented = "".join(f"        {line}\n" for line in body.splitlines())
    return STARTER.replace(HOLE, indented).replace("\n\nclass Linear", f"{top}\n\nclass Linear", 1)


def reasons(body: str, top: str = "", **changes) -> list[str]:
    return [refusal.reason for refusal in lint(PATH, patch(body, top), STARTER, lab(**changes), CLOSURE)]


def test_starter_has_no_findings_against_itself():
    assert lint(PATH, STARTER, STARTER, lab(forbid=["torch", "os"]), CLOSURE) == []


ORDINARY = """
from collections import defaultdict
import math, heapq
from typing import TYPE_CHECKING
import torch.nn.functional as F
import torch.distributed as dist
from mini_infra.megatron.core.mappings import copy_to_region
input = x.reshape(-1, x.shape[-1])
counts = defaultdict(list)
out = F.linear(input, self.weight.t()) * math.sqrt(2)
dist.all_reduce(out, group=getattr(self, "group", None))
self.total = out.sum()
self.cache[0] = out
x.data[0] = 1
vars, compile = 1, 2
print(f"{out.shape!r}", self.__class__.__name__, out.dtype)
with torch.no_grad():
    out.mul_(1)
raise SystemExit if isinstance(x, int) else ValueError(f"{type(x).__name__}")
"""
HELPERS = """
from dataclasses import dataclass

@dataclass(order=True)
class Block:
    size: int
    def __len__(self):
        return self.size
    def __post_init__(self):
        self.size += 0

class _Copy(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        ctx.shape = x.shape
        return x.clone()

def helper(open, *input, **vars):
    return [open(i) for i in input]
"""


def test_ordinary_torch_code_passes():
    assert reasons(ORDINARY, HELPERS) == []


REFUSED = {
    "exit by sys": ("import sys; sys.exit(0)", "import of sys"),
    "exit by the starter's os": ("os._exit(0)", "os._exit: a patch starts and ends no process"),
    "atexit": ("import atexit", "import of atexit"),
    "open": ("open('/proc/self/maps')", "open: the rank has no files"),
    "open aliased": ("o = open\no('/x')", "open: the rank has no files"),
    "open in a tuple": ("a, b = 1, open", "open: the rank has no files"),
    "open by the builtins": ("__builtins__['open']('x')", "__builtins__: a patch does not look"),
    "inspect": ("import inspect", "import of inspect"),
    "frames": ("[0 for _ in ()].gi_frame.f_back.f_locals", "f_locals: a patch does not look"),
    "gc": ("import gc; gc.get_objects()", "import of gc"),
    "monkeypatch of torch": ("torch.equal = lambda a, b: True", "torch.equal: other modules stay as they are"),
    "monkeypatch of a method": ("torch.Tensor.__eq__ = None", "assignment to torch.Tensor.__eq__"),
    "monkeypatch by alias": ("d = torch.distributed\nd.all_reduce = 1", "assignment to torch.distributed.all_reduce"),
    "monkeypatch of ours": ("mappings.reduce = None", "assignment to mini_infra.megatron.core.mappings.reduce"),
    "monkeypatch in a loop": ("for torch.rand in [1]: pass", "assignment to torch.rand"),
    "deletion": ("del torch.rand", "assignment to torch.rand"),
    "setattr": ("setattr(torch, 'rand', 1)", "setattr: write the assignment: thing.name = value"),
    "sys through torch": ("torch.sys.modules", "torch.sys.modules reaches the module sys"),
    "sys through dataclasses": ("import dataclasses\ndataclasses.sys", "dataclasses.sys reaches the module sys"),
    "from import of a carried module": ("from dataclasses import sys", "dataclasses.sys reaches the module sys"),
    "probes": ("import probes", "import of probes"),
    "module outside the branch": ("from mini_infra.megatron.core import random", ""),
    "whole other package": ("import mini_infra.verl.trainer", "this lab's branch has no such module"),
    "upstream": ("from megatron.core import tensor_parallel", "import of megatron.core"),
    "subprocess": ("import subprocess", "import of subprocess"),
    "relative": ("from ....verl import x", "import of"),
    "pickle": ("import pickle", "import of pickle"),
    "torch.load": ("torch.load('x')", "torch.load: the rank has no files"),
    "torch.load by from": ("from torch import load", "torch.load: the rank has no files"),
    "torch.load aliased": ("t = torch\nl = t.load\nl('x')", "torch.load: the rank has no files"),
    "another torch.save": ("torch.save(x, 'x')", "torch.save: the rank has no files"),
    "load_library": ("torch.ops.load_library('x')", "torch.ops.load_library: the rank has no files"),
    "cpp_extension": ("from torch.utils import cpp_extension", "torch.utils.cpp_extension: a patch starts"),
    "multiprocessing": ("torch.multiprocessing.spawn(f)", "torch.multiprocessing.spawn: a patch starts"),
    "hub": ("import torch.hub", "torch.hub: the rank has no files"),
    "testing": ("torch.testing.assert_close(x, x)", "torch.testing.assert_close: checking is the test's work"),
    "environ": ("os.environ['RANK'] = '1'", "os.environ: settings come as arguments"),
    "star": ("from torch import *", "from torch import *: name what you import"),
    "alias in disguise": ("import os.path as torch", "import of os.path"),
    "eval": ("eval('1')", "eval: write the expression itself"),
    "exec after a dead binding": ("[0 for exec in ()]; exec('1')", "exec: write the statements themselves"),
    "getattr computed": ("getattr(torch, 'o' + 's')", "getattr with a computed name: write the attribute itself"),
    "getattr literal": ("getattr(torch, 'os')", "torch.os reaches the module os"),
    "getattr of a dunder": ("getattr(x, '__globals__')", "__globals__: a patch does not look"),
    "getattr passed on": ("list(map(getattr, [x], ['y']))", "getattr passed on"),
    "attrgetter": ("import operator\noperator.attrgetter('a' + 'b')", "attrgetter with a computed name"),
    "globals": ("globals()['x'] = 1", "globals: name the variable"),
    "subclasses": ("().__class__.__base__.__subclasses__()", "__base__: a patch does not look"),
    "class changed": ("x.__class__ = int", "assignment to __class__"),
    "object.__setattr__": ("object.__setattr__(x, 'a', 1)", "__setattr__: a patch does not look"),
    "breakpoint": ("breakpoint()", "breakpoint: take it out before pushing"),
    "walrus": ("(e := eval)('1')", "eval: write the expression itself"),
    "lambda": ("f = lambda open=open: open('x')", "open: the rank has no files"),
    "decorated": ("@eval\ndef f(): pass", "eval: write the expression itself"),
    "conditional import": ("if x:\n    import ctypes", "import of ctypes"),
    "class of an object": ("type(x).sum = None", "assignment to sum of an object's class"),
    "class of an object by its attribute": ("x.__class__.sum = None", "assignment to sum of an object's class"),
    "module in a loop": ("for t in [torch]: t.load('x')", "torch as a value: write torch.name where you use it"),
    "module as a default": ("f = lambda t=torch: t.load('x')", "torch as a value"),
    "module by another name": ("import torch.nn as n\nm = [n]", "torch.nn as a value"),
    "annotation that runs": ("def f(x: [eval(i) for i in '1']): pass", "eval: write the expression itself"),
    "string annotations": ("import typing\ntyping.get_type_hints(x)", "typing.get_type_hints: write the type itself"),
    "time": ("import time; time.sleep(9)", "import of time"),
}  # fmt: skip


@pytest.mark.parametrize("name", REFUSED)
def test_refused(name):
    body, expected = REFUSED[name]
    found = reasons(body)
    if name == "module outside the branch":
        assert found == []  # a name of a module that the branch does show: Python itself says whether it is there
    else:
        assert found, body
        assert any(expected in reason for reason in found), found


@pytest.mark.parametrize(
    ("top", "expected"),
    [
        ("class T(torch.Tensor):\n    pass", "a subclass of torch.Tensor: return plain tensors"),
        ("class T:\n    def __torch_function__(self): pass", "definition of __torch_function__"),
        ("class T:\n    def __getattr__(self, name): pass", "definition of __getattr__"),
        ("def __getattr__(name): pass", "definition of __getattr__"),
        ("if 0:\n    eval = None\nx = eval('1')", "eval: write the expression itself"),
        ("class T:\n    open = 1\n    def f(self): return open('x')", "open: the rank has no files"),
    ],
)  # fmt: skip
def test_refused_at_the_top(top, expected):
    found = reasons("return x", top)
    assert len(found) == 1
    assert found[0].startswith(expected)


def test_a_refusal_names_path_line_and_is_said_once():
    found = lint(PATH, patch("y = 1\nx = eval('1') + eval('2')"), STARTER, lab(), CLOSURE)
    assert [(one.path, one.line, one.reason) for one in found] == [(PATH, 15, "eval: write the expression itself")]


def test_allow_and_forbid():
    assert reasons("open('x')", allow={"builtins": ["open"]}) == []
    assert reasons("getattr(x, str(x))", allow={"builtins": ["getattr"]}) == []
    assert reasons("import time\ntime.sleep(1)", allow={"imports": ["time"]}) == []
    assert reasons("import torch.multiprocessing as mp\nmp.Queue()", allow={"imports": ["torch.multiprocessing"]}) == []
    forbidden = "torch.compile: torch.compile is what this lab asks you to write; do without it"
    assert reasons("torch.compile(x)", forbid=["torch.compile"]) == [forbidden]
    assert reasons("from torch import compile", forbid=["torch.compile"]) == [forbidden]
    assert reasons("import torch as t\nt.compiler", forbid=["torch.compile"]) == []


def test_starter_nodes_are_free_only_where_they_stand():
    moved = STARTER.replace(HOLE, "        torch.save(self.state_dict(), path)\n")
    assert [one.line for one in lint(PATH, moved, STARTER, lab(), CLOSURE)] == [14]
    kept = STARTER.replace("        torch.save", "        x = 1\n        torch.save")
    assert lint(PATH, kept, STARTER, lab(), CLOSURE) == []


def test_what_does_not_parse_is_pythons_to_report():
    assert lint(PATH, "def f(:\n", STARTER, lab(), CLOSURE) == []
    assert lint(PATH, "x = '\0'", STARTER, lab(), CLOSURE) == []


def test_deep_nesting_is_refused_and_does_not_crash():
    deep = STARTER + "y = " + "-" * 20000 + "1\n"
    assert [one.line for one in lint(PATH, deep, STARTER, lab(), CLOSURE)] in ([None], [])
    long = STARTER + "y = 1" + " + 1" * 5000 + "\n"
    assert [one.reason for one in lint(PATH, long, STARTER, lab(), CLOSURE)] in (
        [], ["nested too deeply to be read; split the expression up"])  # fmt: skip
