"""The trees of a branch: what stands in them and, above all, what does not."""

import json

import pytest

from grading.course.catalog import Course, CourseError
from grading.course.holes import definitions
from grading.course.trees import (
    patched_tree,
    reference_tree,
    shows,
    snapshot_tree,
    starter_tree,
    stub_message,
    tree_digest,
)

CORE = "mini_infra/toy/core.py"
HELPERS = "mini_infra/toy/helpers.py"
SOURCES = ["mini_infra/__init__.py", "mini_infra/toy/__init__.py", CORE, HELPERS, "mini_infra/toy/late.py"]
OWN = [".gitignore", ".lab.json", "README.md", "probes.py", "pyproject.toml", "tests/test_public.py"]


def test_snapshot_has_no_hole_of_its_own_and_stubs_of_the_others(course):
    tree = snapshot_tree(course, course.lab("l02"))
    assert sorted(tree) == SOURCES
    core = tree[CORE].decode()
    assert list(definitions(core)) == ["Engine", "Engine.stop", "given"]
    assert 'raise NotImplementedError("l03: write Engine.stop")' in core
    assert "the answer of l01" in tree[HELPERS].decode()  # l02 uses l01
    assert "the answer of l01" not in snapshot_tree(course, course.lab("l03"))[HELPERS].decode()


def test_starter(course, toy):
    tree = starter_tree(course, course.lab("l02"))
    assert sorted(tree) == sorted([*SOURCES, *OWN, "data/table.csv"])
    assert list(tree) == sorted(tree)
    core = tree[CORE].decode()
    assert stub_message("l02", "Engine.start") == "l02: write Engine.start"
    assert '"""n, one higher. Ünïcode."""\n        raise NotImplementedError("l02: write Engine.start")' in core
    assert "_only_for_stop" not in core
    assert tree["README.md"] == b"# l02_start\n"
    assert tree["data/table.csv"] == b"1,2\n"
    assert not any(b"HIDDEN" in content for content in tree.values())


def test_starter_says_what_it_was_made_of(course):
    tree = starter_tree(course, course.lab("l02"))
    about = json.loads(tree.pop(".lab.json"))
    assert (about["id"], about["engine"], about["inputs"]) == ("l02", "0.9", tree_digest(tree))
    assert '    "torch==2.13.0",\n    "tiny==1.0",\n]' in tree["pyproject.toml"].decode()
    engine = starter_tree(course, course.lab("l02"), "git+https://example.org/mainline@v1")
    assert '    "mainline @ git+https://example.org/mainline@v1",\n]' in engine["pyproject.toml"].decode()
    assert '\npip install "mainline @ git+https://example.org/mainline@v1"\n' in engine["README.md"].decode()
    assert starter_tree(course, course.lab("l02")) == {
        **tree,
        ".lab.json": (json.dumps(about, indent=2) + "\n").encode(),
    }


def test_a_lesson_goes_with_the_branch_and_what_it_imports_too(course, toy):
    lesson = "# %%\nfrom mini_infra.toy import late\n"
    (toy / "challenges/l01_up/lesson.py").write_text(lesson)
    tree = starter_tree(course, course.lab("l01"))
    assert tree["lesson.py"] == lesson.encode()
    assert "mini_infra/toy/late.py" in snapshot_tree(course, course.lab("l01"))
    assert "lesson.py" not in starter_tree(course, course.lab("l02"))


def test_a_change_of_another_labs_answer_changes_nothing(course, toy, edit):
    before = starter_tree(course, course.lab("l02"))
    edit(CORE, "return down(n)", "return down(n) + 0")
    edit(CORE, "return helpers.up(n)", "return helpers.up(n) + 0")
    assert starter_tree(Course.load(toy), course.lab("l02")) == before
    edit(HELPERS, "n + 1", "1 + n")
    assert starter_tree(Course.load(toy), course.lab("l02")) != before


def test_reference_fills_its_own_holes_only(course, toy):
    tree = reference_tree(course, course.lab("l03"))
    core = tree[CORE].decode()
    assert "return down(n)" in core
    assert "_only_for_stop" in core
    assert 'raise NotImplementedError("l02: write Engine.start")' in core
    assert {path for path in tree if tree[path] != starter_tree(course, course.lab("l03"))[path]} == {CORE}


def test_shows(course):
    assert shows(course, course.lab("l02")) == ["mini_infra/toy/helpers.py::up"]
    assert shows(course, course.lab("l03")) == []


def test_a_mistake_stands_on_the_reference(course):
    lab = course.lab("l02")
    assert patched_tree(course, lab, None) == starter_tree(course, lab)
    tree = patched_tree(
        course, lab, '"""Off by one."""\n\n\nclass Engine:\n    def start(self, n):\n        return n\n'
    )
    assert "    def start(self, n):\n        return n\n" in tree[CORE].decode()
    assert {path for path, content in reference_tree(course, lab).items() if tree[path] != content} == {CORE}


def test_a_mistake_in_two_files(toy, edit):
    edit("challenges/l03_stop/lab.yaml", "drop:", f"editable: [{CORE}, mini_infra/toy/late.py]\ndrop:")
    course = Course.load(toy)
    lab = course.lab("l03")
    late = "# file: mini_infra/toy/late.py\ndef down(n):\n    return n\n"
    tree = patched_tree(course, lab, f'"""Says."""\n{late}# file: {CORE}\ndef given(n):\n    return 0\n')
    assert tree["mini_infra/toy/late.py"] == b"def down(n):\n    return n\n"
    assert tree[CORE].decode().endswith("def given(n):\n    return 0\n")
    for patch, says in [
        ("def down(n): ...\n", "no '# file: path' line, and l03 has 2 editable files: mini_infra/toy/core.py, "),
        (late + late, "the patch has a part for mini_infra/toy/late.py; l03 wants one part a file"),
        (f"# file: {HELPERS}\n", "the patch has a part for mini_infra/toy/helpers.py"),
        ("x = 1\n" + late, "code above its first '# file: path' line"),
        (
            "# file: mini_infra/toy/late.py\nX = 1\n",
            "the patch of mini_infra/toy/late.py does not fit: a patch carries ",
        ),
    ]:
        with pytest.raises(CourseError, match=says.replace("(", r"\(")):
            patched_tree(course, lab, patch)


def test_what_a_lab_lacks(course, toy):
    (toy / "challenges/l01_up/task.md").unlink()
    with pytest.raises(CourseError, match=r"^challenges/l01_up/task\.md: no such file; every lab has one$"):
        starter_tree(course, course.lab("l01"))
    (toy / "pyproject.toml").unlink()
    with pytest.raises(CourseError, match=r"^pyproject\.toml: no such file"):
        starter_tree(course, course.lab("l02"))
