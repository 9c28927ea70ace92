"""A course is read whole, or one sentence says which file and line is wrong and why."""

# ruff: noqa: E501 (one case a line)

import pytest

from grading.course.catalog import Course, CourseError, UnknownLab, find_course

L02 = "challenges/l02_start/lab.yaml"
L03 = "challenges/l03_stop/lab.yaml"
COURSE = "challenges/course.yaml"


def test_labs_and_what_follows_from_them(course, toy):
    assert [lab.id for lab in course.labs] == course.order == ["l01", "l02", "l03"]
    assert (course.mode, course.hint_after, course.solution_after) == ("open", [1, 3, 5], 5)
    lab = course.lab("l02")
    assert (lab.branch, lab.folder) == ("lab/l02", toy / "challenges/l02_start")
    assert lab.editable_paths == ["mini_infra/toy/core.py"]
    assert lab.hole_files == {"mini_infra/toy/core.py": ["Engine.start"]}
    assert (lab.limits.probe_s, lab.limits.memory_mb, lab.files, lab.allow.imports) == (2, 4096, "none", [])


def test_extensions_have_holes_too(toy, edit):
    edit(L02, "assets:", "extensions:\n  more:\n    holes: [mini_infra/toy/late.py::down]\nassets:")
    lab = Course.load(toy).lab("l02")
    assert lab.hole_files["mini_infra/toy/late.py"] == ["down"]
    assert lab.holes == ["mini_infra/toy/core.py::Engine.start"]


def test_unknown_lab(course):
    with pytest.raises(UnknownLab, match=r"^no lab l99 in this course; it has l01, l02, l03$"):
        course.lab("l99")


@pytest.mark.parametrize(
    ("path", "old", "new", "says"),
    [
        (L02, "holes:", "holse:", f"{L02}:8: unknown key 'holse' (did you mean 'holes'?)"),
        (L02, "hours: 1", "hours: 1\nlimits: {wall: 3}", f"{L02}:7: unknown key 'wall' (did you mean 'wall_s'?)"),
        (L02, "stars: 2", "stars: 9", f"{L02}:5: stars: Input should be less than or equal to 5"),
        (L02, "title: Start\n", "", f"{L02}:1: 'title' is missing"),
        (L02, "title: Start\n", "title: Start\ntitle: S\n", f"{L02}:4: 'title' stands here twice"),
        (L02, "hours: 1", "hours: [1", f"{L02}:"),
        (L02, "::Engine.start", "::Engine.strat", f"{L02}:9: mini_infra/toy/core.py: no definition 'Engine.strat' (did you mean 'Engine.start'?). The file has Engine, Engine.start, Engine.stop, _only_for_stop, given"),
        (L02, "core.py::Engine.start", "cora.py::Engine.start", f"{L02}:9: no file mini_infra/toy/cora.py (did you mean mini_infra/toy/core.py?)"),
        (L02, "::Engine.start", "::Engine", f"{L02}:9: mini_infra/toy/core.py::Engine is a class; a hole is a function or a method"),
        (L02, "mini_infra/toy/core.py::", "mini_infra/../../x.py::", f"{L02}:9: holes.0: 'mini_infra/../../x.py' must be a path inside the repository, with '/' between its parts"),
        (L02, "mini_infra/toy/core.py::", "/etc/x.py::", f"{L02}:9: holes.0: '/etc/x.py' must be a path inside the repository, with '/' between its parts"),
        (L02, "mini_infra/toy/core.py::", "grading/x.py::", f"{L02}:9: holes.0: 'grading/x.py::Engine.start' must be a Python file in mini_infra/: nothing else is a learner's to edit"),
        (L02, "core.py::Engine.start", "core.py", f"{L02}:9: holes.0: 'mini_infra/toy/core.py' must be written path.py::Class.method"),
        (L02, "uses: [l01]", "uses: [l01, l03]", f"{L02}:7: l02 uses l03, which does not come before l02 in the order of {COURSE}"),
        (L02, "uses: [l01]", "uses:\n  - l01\n  - l02", f"{L02}:9: l02 uses l02, which does not come before l02 in the order of {COURSE}"),
        (L02, "uses: [l01]", "needs: [L1]", f"{L02}:7: needs.0: 'L1' is no lab id; an id is an l and two digits, such as l05"),
        (L03, "Engine.stop", "Engine.start", f"{L03}:9: mini_infra/toy/core.py::Engine.start is already a hole of l02"),
        (L03, "::_only_for_stop", "::_only", f"{L03}:11: mini_infra/toy/core.py: no definition '_only' (did you mean '_only_for_stop'?). The file has "),
        (L03, "slug: stop", "slug: stap", f"{L03}:2: id and slug make l03_stap, but the folder is l03_stop"),
        (L03, "id: l03", "id: l04", f"{L03}:1: id and slug make l04_stop, but the folder is l03_stop"),
        (L03, "chapter: 1", "chapter: 7", f"{L03}:4: {COURSE} has no chapter 7"),
        (L02, "table.csv", "tables.csv", f"{L02}:10: no data/tables.csv in l02_start"),
        (L02, "assets:", "editable: [mini_infra/toy/x.py]\nassets:", f"{L02}:10: no file mini_infra/toy/x.py"),
        (
            *(L02, "assets:", "seals: {mainline: [{name: a, snapshot: b, kinds: [], mistakes: [c]}]}\nassets:"),
            f"{L02}:10: no mistakes/c.py",
        ),
        (COURSE, "l03]", "l04]", f"{COURSE}:4: l04 needs one folder challenges/l04_<slug>; there is none"),
        (COURSE, "l03]", "l01]", f"{COURSE}:4: l01 stands in the order twice"),
        (COURSE, "title: Toy", "titel: Toy", f"{COURSE}:1: "),
        (COURSE, "title: One", "titel: One", f"{COURSE}:3: "),
        ("mini_infra/toy/core.py", "def stop", "def (", f"{L02}:9: mini_infra/toy/core.py: line 13: invalid syntax"),
    ],
)  # fmt: skip
def test_errors_name_file_and_line(toy, edit, path, old, new, says):
    edit(path, old, new)
    with pytest.raises(CourseError) as error:
        Course.load(toy)
    assert str(error.value).startswith(says)
    assert "\n" not in str(error.value)


def test_a_sealed_catalogue_has_no_answers_to_check(toy, edit):
    edit(COURSE, "title: Toy", "title: Toy\nmode: sealed")
    for path in (toy / "mini_infra").rglob("*.py"):
        path.unlink()
    with pytest.raises(CourseError, match=r"no file mini_infra/toy/helpers\.py"):
        Course.load(toy)
    for folder in (toy / "mini_infra/toy", toy / "mini_infra"):
        folder.rmdir()
    assert Course.load(toy).lab("l01").title == "Up"


def test_found_from_below_and_by_its_path(toy, tmp_path):
    assert find_course(toy / "mini_infra" / "toy").root == toy
    assert find_course(tmp_path, toy).root == toy
    with pytest.raises(CourseError, match="--course PATH"):
        find_course(tmp_path)
    with pytest.raises(CourseError, match=r"challenges/course\.yaml: no such file"):
        find_course(tmp_path, tmp_path)


def test_found_in_main_without_a_checkout(toy, tmp_path, git):
    """On a lab branch, and in a work tree of its own, main is read out of the object store once."""
    (toy / ".github").mkdir()
    (toy / ".github/release.yml").write_text("name: release\n")  # `labs release` puts the workflow into the tag
    git(toy, "init", "-q", "-b", "main")
    git(toy, "add", ".")
    git(toy, "commit", "-q", "-m", "course")
    git(toy, "checkout", "-q", "--orphan", "lab/l01")
    git(toy, "rm", "-rfq", ".")
    git(toy, "commit", "-q", "--allow-empty", "-m", "lab")
    git(toy, "worktree", "add", "-q", str(tmp_path / "mine"), "-b", "mine")
    tree = git(toy, "rev-parse", "main^{tree}").strip()
    for start in (toy, tmp_path / "mine"):
        found = find_course(start)
        assert found.root == toy / ".git/labs/course" / tree
        assert [lab.id for lab in found.labs] == ["l01", "l02", "l03"]
        assert (found.root / ".github/release.yml").is_file()
    assert [one.name for one in (toy / ".git/labs/course").iterdir()] == [tree]
    git(toy, "update-ref", "refs/remotes/origin/main", "main")
    git(toy, "branch", "-D", "main")
    assert find_course(toy).root.name == tree
    git(toy, "update-ref", "-d", "refs/remotes/origin/main")
    with pytest.raises(CourseError, match="no course here"):
        find_course(toy)
