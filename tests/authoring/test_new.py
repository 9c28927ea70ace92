"""`labs new` on the tiny course: a lab that loads at once, or nothing at all."""

import ast

import pytest

from grading.authoring.new import new
from grading.course.catalog import Course, CourseError
from grading.feedback import exam, hints

OPS = "mini_infra/tiny/ops.py"
FREE = f"{OPS}::negated"


def listing(root):
    return {path.relative_to(root): path.read_bytes() for path in root.rglob("*") if path.is_file()}


def test_the_new_lab_fits_the_schema_and_stands_last(tiny):
    folder = new(tiny, "l36", "policy_loss", [FREE])
    course = Course.load(tiny.root)
    lab = course.lab("l36")
    assert course.order == [*tiny.order, "l36"]
    assert (lab.folder, lab.holes, lab.title) == (folder, [FREE], "Policy loss")
    assert {question.layer for question in exam.load(lab)} == set(exam.LAYERS)
    assert set(hints.load(lab)) == {"basics"}
    task = (folder / "task.md").read_text()
    assert f"| `{OPS}` | `negated(x)` |" in task
    for path in folder.rglob("*.py"):
        ast.parse(path.read_text())


@pytest.mark.parametrize(
    ("lab", "slug", "holes", "says"),
    [
        ("l01", "again", [FREE], "l01 is there already"),
        ("l36", "Policy Loss", [FREE], "l36 Policy Loss: a lab is named like l36 policy_loss"),
        ("36", "policy_loss", [FREE], "36 policy_loss: a lab is named like"),
        ("l36", "policy_loss", [f"{OPS}::nope"], f"{OPS}::nope: no definition 'nope'"),
        ("l36", "policy_loss", ["mini_infra/tiny/no.py::nope"], "mini_infra/tiny/no.py::nope: "),
        ("l36", "policy_loss", [f"{OPS}::double"], f"{OPS}::double is already a hole of l01"),
    ],
)
def test_what_does_not_fit_changes_nothing(tiny, lab, slug, holes, says):
    before = listing(tiny.root)
    with pytest.raises(CourseError) as said:
        new(tiny, lab, slug, holes)
    assert says in str(said.value)
    assert listing(tiny.root) == before
