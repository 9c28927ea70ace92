"""The import closure: what a probe needs, and nothing else."""

import pytest

from grading.course.catalog import CourseError
from grading.course.closure import closure

PACKAGES = ["mini_infra/__init__.py", "mini_infra/toy/__init__.py"]


def test_closure_follows_imports_inside_functions(toy):
    modules = [f"mini_infra/toy/{name}.py" for name in ("core", "helpers", "late")]
    assert closure(toy, ["challenges/l01_up/probes.py"]) == [*PACKAGES, *modules]
    assert closure(toy, ["mini_infra/toy/late.py"]) == [*PACKAGES, "mini_infra/toy/late.py"]


@pytest.mark.parametrize(
    ("line", "path"),
    [
        ("import mini_infra.toy.late", "mini_infra/toy/late.py"),
        ("import mini_infra.toy.late as x", "mini_infra/toy/late.py"),
        ("from mini_infra.toy.late import down", "mini_infra/toy/late.py"),
        ("from mini_infra.toy.late import *", "mini_infra/toy/late.py"),
        ("from . import late", "mini_infra/toy/late.py"),
        ("from .late import down", "mini_infra/toy/late.py"),
        ("from ..toy import late", "mini_infra/toy/late.py"),
        ("try:\n    import mini_infra.toy.late\nexcept ImportError: ...", "mini_infra/toy/late.py"),
    ],
)
def test_every_way_to_import(toy, line, path):
    (toy / "mini_infra/toy/unneeded.py").write_text(line)
    assert closure(toy, ["mini_infra/toy/unneeded.py"]) == sorted([*PACKAGES, path, "mini_infra/toy/unneeded.py"])


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("\nimport mini_infra.toy.nope", "mini_infra/toy/late.py:2: imports mini_infra.toy.nope, which mini_"),
        ("from mini_infra.nope import x", "mini_infra/toy/late.py:1: imports mini_infra.nope, which mini_"),
        ("x = 1\ny = )", "mini_infra/toy/late.py:2: unmatched"),
        ("x = '\0'", "mini_infra/toy/late.py:1: source code"),
    ],
)
def test_errors(toy, text, says):
    (toy / "mini_infra/toy/late.py").write_text(text)
    with pytest.raises(CourseError) as error:
        closure(toy, ["challenges/l01_up/probes.py"])
    assert str(error.value).startswith(says)
    with pytest.raises(CourseError, match=r"nope\.py: no such file"):
        closure(toy, ["nope.py"])
