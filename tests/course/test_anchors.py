"""What became of an anchor in another release."""

from grading.course import anchors
from grading.course.snapshots import Lock

OLD = """\
class C:
    @staticmethod
    def f(a):
        # why
        return a

    def g(self):
        return 1
"""


def lock(*names: str) -> Lock:
    marks = {f"toy/core.py::{name}": anchors.mark(OLD, name) for name in names}
    head = {"name": "toy", "repository": "https://example.org/toy", "ref": "v1", "version": "1", "licence": "MIT"}
    return Lock(**head, anchors=marks)


def looked(tmp_path, text: str, *names: str) -> list[tuple]:
    (tmp_path / "toy").mkdir(exist_ok=True)
    (tmp_path / "toy/core.py").write_text(text)
    return [(one.what, one.old, one.new, one.why) for one in anchors.look(lock(*names), tmp_path)]


def test_the_same(tmp_path):
    assert looked(tmp_path, OLD, "C.f", "C.g") == [("same", (2, 5), (2, 5), ""), ("same", (7, 8), (7, 8), "")]


def test_moved_reformatted_and_commented_is_moved(tmp_path):
    text = "import os\n\n\n" + OLD.replace("# why", "# other words").replace("return a", "\n        return a")
    assert looked(tmp_path, text, "C.f") == [("moved", (2, 5), (5, 9), "")]


def test_changed(tmp_path):
    assert looked(tmp_path, OLD.replace("return a", "return -a"), "C.f") == [("changed", (2, 5), (2, 5), "")]


def test_gone(tmp_path):
    text = OLD.replace("class C", "class D")
    assert looked(tmp_path, text, "C.f") == [("gone", (2, 5), None, "no C.f in it, but D.f")]
    (tmp_path / "toy/core.py").unlink()
    assert [one.why for one in anchors.look(lock("C.f"), tmp_path)] == ["no file toy/core.py"]


def test_a_definition_has_one_hash_wherever_it_is_indented():
    assert (
        anchors.mark("def f(a):\n    return a\n", "f").source
        == anchors.mark("class C:\n    def f(a):\n        return a\n", "C.f").source
    )
