"""The surgery of holes and patches by example: what is cut, what stays, what is said."""

# ruff: noqa: E501 (one case a line)

import pytest

from grading.course.holes import Changes, HoleError, changes, definitions, edit, excise, graft, remove, splice

LAYERS = '''\
"""Layers."""

import torch

SIZE = 4


class Linear(torch.nn.Module):
    """y = x W."""

    bias: int = 0

    def forward(self, x):  # noqa: X
        """Shapes: [s, b, h]."""
        # the product first
        y = x @ self.w

        return y  # then the sum
        # and that is all

    @property
    def rank(self):
        return self._rank

    @rank.setter
    def rank(self, value): self._rank = value


@overload
def pick(x: int) -> int: ...
@overload
def pick(x: str) -> str: ...
def pick(x):
    return x


if SIZE:
    def twice(x): return x + x
else:
    def twice(x): return 2 * x
'''

STUB = "def pick(x: str) -> "


def test_definitions_are_named_by_where_they_stand():
    found = definitions(LAYERS)
    assert list(found) == ["Linear", "Linear.forward", "Linear.rank", "Linear.rank.setter", "pick"]
    assert (found["Linear.forward"].first_line, found["Linear.forward"].last_line) == (13, 19)
    assert [one.kind for one in found.values()] == ["class", *["function"] * 4]
    assert definitions("async def a():\n    class B:\n        def c(self): ...\n")["a.B.c"].indent == "        "


def test_excise_takes_the_body_with_its_comments():
    text = excise(LAYERS, "Linear.forward", "l05: write Linear.forward")
    assert text[text.index("    def forward") : text.index("    @property")] == (
        "    def forward(self, x):  # noqa: X\n"
        '        """Shapes: [s, b, h]."""\n'
        '        raise NotImplementedError("l05: write Linear.forward")\n\n'
    )
    assert splice(text, "Linear.forward", LAYERS) == LAYERS


@pytest.mark.parametrize(
    ("body", "stub"),
    [
        ("def f(x): return x", "def f(x): RAISE"),
        ("def f(x): return x;  # fast\n", "def f(x): RAISE\n"),
        ("def f(x): 'doc'", "def f(x): 'doc'; RAISE"),
        ("def f(x): 'doc'; y = 1; return y", "def f(x): 'doc'; RAISE"),
        ("def f(x): \\\n  return x\n", "def f(x): \\\n  RAISE\n"),
        ("def f():\r\n\t'é'\r\n", "def f():\r\n\t'é'\r\n\tRAISE\r\n"),
        ("def f(a={1: ':'}, # :\n  *, b=lambda: 0) -> {2: 3}: return 1", "def f(a={1: ':'}, # :\n  *, b=lambda: 0) -> {2: 3}: RAISE"),
        ("s = 'é'\u2028 \n" if False else "s = 'é\u2028\x0c'\ndef f(): return s", "s = 'é\u2028\x0c'\ndef f(): RAISE"),
        ("@(  # @\n a)\ndef f():\n\n  # why\n  return 1\n  # more\n\n# next\n", "@(  # @\n a)\ndef f():\n\n  RAISE\n\n# next\n"),
    ],
)  # fmt: skip
def test_excise_everywhere(body, stub):
    assert excise(body, "f", "m") == stub.replace("RAISE", 'raise NotImplementedError("m")')


def test_remove_leaves_pass_in_an_empty_block_and_takes_stubs_along():
    assert "pick" not in remove(LAYERS, "pick")
    assert "overload" not in remove(LAYERS, "pick")
    assert remove("class A:\r\n\tdef f(self): pass\r\nx = 1", "A.f") == "class A:\r\n\tpass\r\nx = 1"
    assert remove('class A:\n    """d"""\n    def f(self): pass', "A.f") == 'class A:\n    """d"""\n'
    both = "class A:\n    def f(self): ...\n\n    def g(self): ...\n"
    assert edit(both, removed=["A.f", "A.g"]) == "class A:\n    pass\n\n"
    assert edit(both, removed=["A", "A.g"]) == ""


def test_splice_brings_decorators_signature_and_indentation():
    donor = 'class A:\n  @wrap\n  def f(self, x):\n    t = """\n  raw"""\n    return t\n'
    assert splice("if 1:\n\tpass\nclass A:\n\tdef f(self): ...\n", "A.f", donor) == (
        'if 1:\n\tpass\nclass A:\n\t@wrap\n\tdef f(self, x):\n\t  t = """\n  raw"""\n\t  return t\n'
    )


@pytest.mark.parametrize(
    ("name", "says"),
    [
        ("Linear.foward", "no definition 'Linear.foward' (did you mean 'Linear.forward'?). The file has Linear, "),
        ("twice", "'twice' is defined 2 times (lines 38, 40); a name must stand for one definition. The file has "),
    ],
)
def test_what_the_file_has(name, says):
    with pytest.raises(HoleError) as error:
        excise(LAYERS, name, "m")
    assert str(error.value).startswith(says)


def test_a_class_is_no_hole_and_a_broken_file_has_none():
    with pytest.raises(HoleError, match="is a class; a hole is a function or a method"):
        excise(LAYERS, "Linear", "m")
    with pytest.raises(HoleError, match=r"line 2: '\(' was never closed"):
        definitions("x = 1\ny = (\n")
    with pytest.raises(HoleError, match="cannot be parsed"):
        definitions("x = 1\0")


@pytest.mark.parametrize(
    ("old", "new", "found"),
    [
        ("return y  # then", "return 2 * y  # then", Changes(changed=["Linear.forward"])),
        ("def forward(self, x):", "def forward(self, x, y=0):", Changes(changed=["Linear.forward"])),
        ("    @rank.setter", "    @wrap\n    @rank.setter", Changes(changed=["Linear.rank.setter"])),
        ("bias: int = 0", "bias: int = 1", Changes(changed=["Linear"])),
        ('"""y = x W."""', '"""y = W x."""', Changes(changed=["Linear"])),
        ("(torch.nn.Module)", "(Base)", Changes(changed=["Linear"])),
        ("import torch\n", "import torch\nfrom torch import nn, cuda as c\n", Changes(imports=["from torch import nn, cuda as c"])),
        ("import torch\n", "", Changes(other=["'import torch' is removed"])),
        ("SIZE = 4", "SIZE = 5", Changes(other=["line 5: 'SIZE = 5'", "'SIZE = 4' is removed (line 5 before)"])),
        ("    def forward(", "    def new(self): ...\n\n    def forward(", Changes(added=["Linear.new"])),
        ("if SIZE:", "def a(): ...\nclass B:\n    def c(self): ...\n\nif SIZE:", Changes(added=["a", "B"])),
        ('"""Layers."""', '"""Other."""', Changes(other=["the docstring of the file is another"])),
        ("\n\n\n@overload", "\n# note\n\n@overload", Changes()),
        ("(x: str) -> str", "(x: str) -> int", Changes(other=[f"line 32: '{STUB}int: ...'", f"'{STUB}str: ...' is removed (line 32 before)"])),
        ("return x + x", "return x", Changes(other=["line 37: 'if SIZE:'", "'if SIZE:' is removed (line 37 before)"])),
    ],
)  # fmt: skip
def test_changes(old, new, found):
    edited = LAYERS.replace(old, new)
    assert edited != LAYERS
    assert changes(LAYERS, edited) == found
    assert changes(LAYERS.replace("\n", "\r\n"), edited) == found


def test_removed_definitions_are_other():
    assert changes(LAYERS, remove(LAYERS, "Linear.rank.setter")).other == ["Linear.rank.setter is removed"]
    assert changes("class A:\n    def f(self): ...\n", "").other == ["A is removed"]


def test_graft_splices_adds_and_imports():
    patch = '''\
"""What goes wrong."""

from __future__ import annotations

import math

class Linear:
    def forward(self, x):
        return helper(x)

    def new(self): ...

def helper(x: Small):
    return x

class Small(Linear): ...
'''
    text = graft(LAYERS, patch)
    assert text.startswith('"""Layers."""\nfrom __future__ import annotations\n\nimport torch\nimport math\n')
    assert changes(LAYERS, text) == Changes(
        changed=["Linear.forward"],
        added=["helper", "Linear.new", "Small"],
        imports=["from __future__ import annotations", "import math"],
    )
    assert list(definitions(text))[:3] == ["helper", "Linear", "Linear.forward"]
    assert text.index("class Small") > text.index("class Linear")  # its base has to be there first
    assert graft(text, patch) == text


def test_graft_takes_a_whole_edited_file():
    edited = LAYERS.replace("return y", "return -y").replace("bias: int = 0", "bias: int = 1")
    assert graft(LAYERS, edited) == edited


@pytest.mark.parametrize(
    ("patch", "says"),
    [
        ("SIZE = 5\n", "this one has line 1: 'SIZE = 5'"),
        ("class Linear:\n    z = 1\n", "line 1: other statements in class Linear; give the whole class"),
        ("def twice(x): return x\n", "line 1: twice, which the old file defines elsewhere or repeatedly"),
        ("def f(): ...\ndef f(): ...\n", "line 1: 'def f"),
        ("def f(:\n", "line 1: invalid syntax"),
    ],
)
def test_what_a_patch_cannot_carry(patch, says):
    with pytest.raises(HoleError) as error:
        graft(LAYERS, patch)
    assert says in str(error.value)


def test_imports_go_behind_the_whole_line():
    assert graft("import a; b = (\n1)\nc = b\n", "import d\n") == "import a; b = (\n1)\nimport d\nc = b\n"
    assert graft("", "import d\n") == "import d\n"
    assert graft('"""D."""', "import d\n") == '"""D."""\nimport d\n'


def test_a_property_is_added_with_both_halves():
    patch = "class A:\n    @property\n    def p(self): ...\n    @p.setter\n    def p(self, v): ...\n"
    text = graft("class A:\n    def f(self): ...\n", patch)
    assert list(definitions(text)) == ["A", "A.f", "A.p", "A.p.setter"]
    assert list(definitions(graft("", patch))) == ["A", "A.p", "A.p.setter"]
