"""Each lab's lesson.py, executed as a notebook in the root of the lab's branch, where the holes are not written yet.

The lessons of one run share a kernel, which imports torch once; each starts with no names and no module of mini_infra.
"""

import ast
from pathlib import Path

import jupytext
import pytest
from jupyter_client.manager import KernelManager
from nbclient import NotebookClient
from nbformat import v4

from grading.course.catalog import Course
from grading.course.holes import definitions
from grading.course.syntax import parse
from grading.course.trees import starter_tree

COURSE = Course.load(Path(__file__).parents[1])
LESSONS = [lab.id for lab in COURSE.labs if (lab.folder / "lesson.py").is_file()]
CELL_S = 20
SPEAKING = 30  # a shorter expression may stand in a lesson by right: `len(borders) - 2`
AFRESH = """\
%matplotlib inline
import os, sys
os.chdir({root!r})
for name in [one for one in sys.modules if one.partition(".")[0] == "mini_infra"]:
    del sys.modules[name]
%reset -f
"""


def source(lab) -> str:
    return (lab.folder / "lesson.py").read_text(encoding="utf-8")


@pytest.fixture(scope="module")
def kernel():
    manager = KernelManager()
    manager.start_kernel()
    yield manager
    manager.shutdown_kernel(now=True)


@pytest.mark.parametrize("name", LESSONS)
def test_a_lesson_runs_on_its_branch_and_shows_a_figure(name, kernel, tmp_path):
    for path, content in starter_tree(COURSE, COURSE.lab(name)).items():
        (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / path).write_bytes(content)
    notebook = jupytext.reads(source(COURSE.lab(name)), fmt="py:percent")
    notebook.cells.insert(0, v4.new_code_cell(AFRESH.format(root=str(tmp_path))))
    client = NotebookClient(notebook, km=kernel, timeout=CELL_S)
    try:
        client.execute()
    finally:
        client.kc.stop_channels()
    kinds = [kind for cell in notebook.cells for output in cell.get("outputs", []) for kind in output.get("data", {})]
    assert "image/png" in kinds, f"the lesson of {name} shows no figure"


@pytest.mark.parametrize("name", LESSONS)
def test_a_lesson_gives_no_answer(name):
    lab = COURSE.lab(name)
    said = spoken(parse(source(lab)))
    for hole in [*lab.all_holes, *lab.drop]:
        assert said & spoken(body(hole)) == set(), f"challenges/{lab.folder.name}/lesson.py says what {hole} says"


def body(hole: str) -> ast.Module:
    path, _, qualname = hole.partition("::")
    node = definitions((COURSE.root / path).read_text(encoding="utf-8"))[qualname].node
    return ast.Module(node.body, type_ignores=[])


def spoken(tree: ast.Module) -> set[str]:
    """The values that a program's statements compute, return or compare, each as normalised text; docstrings aside."""
    values = [getattr(node, "value", None) or getattr(node, "test", None) for node in ast.walk(tree)]
    texts = {ast.unparse(one) for one in values if isinstance(one, ast.expr) and not isinstance(one, ast.Constant)}
    return {text for text in texts if len(text) >= SPEAKING}
