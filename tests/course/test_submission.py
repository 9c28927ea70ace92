"""Submissions out of real repositories: rows A01-A20 and A22-A24 of the attacks, with the sentences they get."""

# ruff: noqa: E501 (one case a line)

import pytest
from pushed import Pushed

from grading.course.catalog import Course
from grading.course.holes import splice
from grading.course.submission import Refusal, Refused, from_commit, from_tree, from_worktree
from grading.course.trees import reference_tree, starter_tree
from grading.course.vetting import LIMIT

CORE = "mini_infra/toy/core.py"
SOLVED = '''
    def start(self, n: int) -> int:
        """n, one higher. Ünïcode."""
        return n + 1
'''


@pytest.fixture
def pushed(tmp_path, course) -> Pushed:
    (tmp_path / "hub.git").mkdir()
    return Pushed(tmp_path / "hub.git", course)


@pytest.fixture
def solved(pushed) -> bytes:
    source = pushed.starter[CORE].decode()
    return splice(source, "Engine.start", f"class Engine:{SOLVED}").encode()


def test_a_solution(pushed, solved):
    commit = pushed.edited({CORE: solved})
    got = pushed.submission(commit)
    assert (got.lab, got.commit, got.blobs) == ("l02", commit, {CORE: solved})
    assert (got.not_graded, got.warnings, got.descends, got.holes_filled) == ([], [], True, True)


def test_a01_link(pushed):
    (refusal,) = pushed.refused({CORE: ("120000", b"/etc/passwd")})
    says = "this is a symbolic link; links are never followed: commit the file itself, with your code in it"
    assert refusal == Refusal(CORE, None, says)


def test_a02_folder_is_a_link(pushed):
    (refusal,) = pushed.refused({"mini_infra/toy": ("120000", b"../elsewhere")}, without=["mini_infra/toy"])
    assert refusal.reason.startswith("the folder mini_infra/toy is a symbolic link; ")


@pytest.mark.parametrize("path", [CORE, "mini_infra/toy", "mini_infra"])
def test_a03_submodule(pushed, path):
    modules = b'[submodule "x"]\n\tpath = mini_infra\n\turl = ext::sh -c "touch /tmp/pwned"\n'
    (refusal,) = pushed.refused({path: ("160000", "1" * 40), ".gitmodules": modules}, without=[path])
    assert "is a submodule; links are never followed" in refusal.reason


@pytest.mark.parametrize(
    ("other", "mine"),
    [
        ("mini_infra/toy/Core.py", CORE),
        ("mini_infra/TOY/x.py", "mini_infra/toy"),
        ("Mini_infra/toy/core.py", "mini_infra"),
    ],
)
def test_a04_case(pushed, other, mine):
    reasons = [one.reason for one in pushed.refused({other: b"x = 1\n"})]
    clash = next(part for part in (other, other.rpartition("/")[0], other.split("/")[0]) if part.lower() == mine)
    assert reasons[0] == f"{clash} stands beside {mine}: on many disks they are one name; rename or delete one"


def test_one_name_twice(pushed, solved):
    """No git makes such a tree, but one can be written by hand."""
    lines = [bytes.fromhex(pushed.tree({"toy/core.py": content})) for content in (solved, b"x = 1\n")]
    top = pushed.put("tree", b"".join(b"40000 mini_infra\0" + sha for sha in lines))
    commit = pushed.put("commit", f"tree {top}\n\n".encode())
    with pytest.raises(Refused, match=f"^{CORE}: this name stands in the commit twice; "):
        pushed.submission(commit)


def test_a05_attributes(pushed, solved):
    attributes = {".gitattributes": b"*.py filter=x eol=crlf\n", ".lfsconfig": b"[lfs]\nurl = http://x\n"}
    pushed.git("config", "filter.x.smudge", "echo smudged")
    got = pushed.grade({CORE: solved, **attributes})
    assert got.blobs == {CORE: solved}
    assert got.not_graded == [".gitattributes", ".lfsconfig"]


def test_a06_lfs(pushed):
    (refusal,) = pushed.refused({CORE: b"version https://git-lfs.github.com/spec/v1\noid sha256:00\nsize 9\n"})
    assert refusal.reason.startswith("this is a Git LFS pointer; ")


@pytest.mark.parametrize("size", [LIMIT + 1, 1 << 24])
def test_a07_size(pushed, size):
    (refusal,) = pushed.refused({CORE: b"#" * size})
    assert refusal.reason.startswith(f"the file has {size:,} bytes and the limit is 262,144; ")


def test_a08_many_lines(pushed, solved):
    got = pushed.grade({CORE: solved + b"\n" * 100_000})
    assert got.holes_filled


@pytest.mark.parametrize(
    "source",
    [
        b"x = " + b"(" * 130_000 + b")" * 130_000,
        b"x = " + b"[" * 150 + b"]" * 150 + b"\ny = " + b"-" * 100_000 + b"1\n",
        b"x = 1" + b"+1" * 100_000 + b"\n",
        b"x = a" + b".b" * 80_000 + b"\n",
        b"x = " + b"lambda: " * 20_000 + b"1\n",
        b"if x: pass\n" + b"elif x: pass\n" * 15_000,
    ],
    ids=["brackets", "minus", "sum", "attributes", "lambda", "elif"],
)
def test_a09_parser_stack(pushed, source):
    (refusal,) = pushed.refused({CORE: source})
    assert refusal.reason.startswith("cannot be parsed: it is nested too deeply")


@pytest.mark.parametrize(
    ("content", "line", "reason"),
    [
        (b"\x89PNG\r\n\x1a\n\0\0", 1, "this is not UTF-8 text; save the file as UTF-8 source code"),
        (b"\xa7\r\r\n\0\0\0", 1, "this is not UTF-8 text; save the file as UTF-8 source code"),
        (b"x = 1\r\rs = '\xe9'\n", 3, "this is not UTF-8 text; save the file as UTF-8 source code"),
        ("x = 1\n".encode("utf-16"), 1, "this is not UTF-8 text; save the file as UTF-8 source code"),
        (b"x = 1\n# a\0b\n", 2, "there is a NUL character here; delete it"),
        (b"# -*- coding: utf-7 -*-\n", 1, "the file declares the coding 'utf-7'; save it as UTF-8 and delete this line"),
        (b"#!x\r# vim: fileencoding=rot13\n", 2, "the file declares the coding 'rot13'; save it as UTF-8 and delete this line"),
        (b"\xef\xbb\xbf#coding=latin1\n", 1, "the file declares the coding 'latin1'; save it as UTF-8 and delete this line"),
        (b"\xef\xbb\xbf\xef\xbb\xbfx = 1\n", 1, "there is a byte order mark inside the file; delete it"),
        (b"x = 1\ny = '\xef\xbb\xbf'\n", 2, "there is a byte order mark inside the file; delete it"),
    ],
)  # fmt: skip
def test_a10_a11_a12_not_python_text(pushed, content, line, reason):
    assert pushed.refused({CORE: content}) == [Refusal(CORE, line, reason)]


@pytest.mark.parametrize(
    "head", [b"\xef\xbb\xbf", b"# coding: utf8\n", b"#!x\n# -*- coding: UTF-8 -*-\n", b"x = 1\n# coding: y\n"]
)
def test_a12_utf8_by_declaration(pushed, solved, head):
    assert pushed.grade({CORE: head + solved}).holes_filled


def test_a13_bidi_and_lookalikes(pushed, solved):
    tail = "x = 1  # \u202e\nрас = 2\nраth = 3\nα = 4\nﬁle = 5\ns = 'раth'\n"
    first = solved.decode().count("\n") + 1
    got = pushed.grade({CORE: solved + tail.encode()})
    assert [(one.path, one.line) for one in got.warnings] == [(CORE, first + at) for at in (0, 1, 2, 4)]
    assert "invisible characters that change the direction" in got.warnings[0].reason
    assert got.warnings[2].reason == "the name '\\u0440\\u0430th' is not what it looks like: раth"


def test_a14_crlf(pushed, solved):
    assert pushed.grade({CORE: solved.replace(b"\n", b"\r\n")}).holes_filled
    assert not pushed.grade({CORE: pushed.starter[CORE].replace(b"\n", b"\r\n")}).holes_filled


def test_a15_lines_are_pythons(pushed, solved):
    lines = "s = '\u2028\x0b\x1c'\r\x0c\r\nx = '\u202e'\n"
    got = pushed.grade({CORE: lines.encode() + solved})
    assert [one.line for one in got.warnings] == [3]


def test_a16_names(pushed, solved):
    names = [b"-rf", b"a\nb", b"a\tb", b'"q"', b"\xff\xfe.py", b"l" * 4096]
    got = pushed.grade({CORE: solved, **dict.fromkeys(names, b"")})
    assert got.not_graded == ['"q"', "-rf", "\\xff\\xfe.py", "a\\nb", "a\\tb", "l" * 200 + "…"]
    assert all(name.isprintable() for name in got.not_graded)


def test_a17_renamed(pushed, solved):
    moved = {"mini_infra/toy/layers2.py": solved, "mini_infra/toy/other.py": b"def given(n): ...\n"}
    (refusal,) = pushed.refused(moved, without=[CORE])
    assert refusal.path == CORE
    assert refusal.reason == (
        "the file is missing; it looks as if it became mini_infra/toy/layers2.py: "
        "move it back with `git mv` and push again"
    )


def test_a18_deleted_or_untouched(pushed):
    (refusal,) = pushed.refused({}, without=[CORE])
    assert refusal.reason == f"the file is missing; take it back: `git checkout @{{upstream}} -- {CORE}`"
    got = pushed.submission(pushed.tip)
    assert (got.holes_filled, got.not_graded, got.descends) == (False, [], True)
    assert not pushed.grade({CORE: b"# only a comment\n" + pushed.starter[CORE]}).holes_filled


def test_a19_mode(pushed, solved):
    assert pushed.grade({CORE: ("100755", solved)}).holes_filled


def test_a20_a21_edits_elsewhere(pushed, solved):
    elsewhere = ["probes.py", "tests/test_public.py", "pyproject.toml", ".lab.json", "mini_infra/toy/late.py"]
    added = [
        "conftest.py",
        "sitecustomize.py",
        ".github/workflows/grade.yml",
        "mini_infra/torch/__init__.py",
        "json.py",
    ]
    got = pushed.grade({CORE: solved, **dict.fromkeys([*elsewhere, *added], b"evil")}, without=["README.md"])
    assert got.not_graded == [*sorted([*elsewhere, *added]), "README.md (deleted)"]
    assert got.blobs == {CORE: solved}
    got = pushed.grade({f"{number}.txt": b"" for number in range(150)})
    assert (len(got.not_graded), got.not_graded[-1]) == (101, "and 50 more")


def test_an_older_published_version_is_no_edit(pushed, solved):
    """The branch moved on: what the learner has from the version before is not theirs."""
    older = pushed.edited({"README.md": b"# old\n"}, parents=[])
    newer = pushed.edited({}, parents=[older])
    pushed.git("update-ref", "refs/heads/lab/l02", newer)
    got = pushed.grade({CORE: solved, "README.md": b"# old\n"}, parents=[older])
    assert (got.not_graded, got.descends) == ([], False)


def test_a22_only_the_heads_tree_counts(pushed, solved):
    orphan = pushed.edited({CORE: solved}, parents=[])
    got = pushed.submission(orphan)
    assert (got.holes_filled, got.descends) == (True, False)
    octopus = pushed.edited({CORE: solved}, parents=[pushed.tip, orphan, pushed.edited({})])
    assert pushed.submission(octopus).descends
    no_branch = from_commit(pushed.folder, orphan, pushed.lab, pushed.starter)
    assert no_branch.descends


def test_a23_a_revert_counts(pushed, solved):
    assert not pushed.grade({}, parents=[pushed.edited({CORE: solved})]).holes_filled


def test_a24_what_is_no_commit(pushed, solved):
    commit = pushed.edited({CORE: solved})
    pushed.git("tag", "-a", "-m", "t", "tagged", commit)
    assert pushed.submission(pushed.git("rev-parse", "tagged").strip()).commit == commit
    for name in (pushed.put("blob", b"x"), f"{commit}^{{tree}}", "0" * 40, "--help", "a\0b", "no\nsuch"):
        with pytest.raises(Refused, match="is no commit of this repository; push a commit"):
            pushed.submission(name)


def test_replaced_objects_do_not_count(pushed, solved):
    commit = pushed.edited({CORE: pushed.starter[CORE]})
    pushed.git("replace", commit, pushed.edited({CORE: solved}))
    assert not pushed.submission(commit).holes_filled


def test_a_syntax_error_is_graded(pushed, solved):
    got = pushed.grade({CORE: solved + b"def (\n"})
    assert (got.holes_filled, got.warnings) == (True, [])


def test_every_refusal_at_once(toy, edit, tmp_path):
    edit("challenges/l02_start/lab.yaml", "assets:", f"editable: [{CORE}, mini_infra/toy/late.py]\nassets:")
    (tmp_path / "hub.git").mkdir()
    pushed = Pushed(tmp_path / "hub.git", Course.load(toy))
    refusals = pushed.refused({CORE: b"\xff", "mini_infra/toy/late.py": b"-" * 100_000 + b"1"})
    assert [(one.path, one.line) for one in refusals] == [(CORE, 1), ("mini_infra/toy/late.py", None)]


def test_worktree(pushed, solved, tmp_path):
    folder = tmp_path / "mine"
    for path, content in (pushed.starter | {CORE: solved, "notes.md": b""}).items():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_bytes(content)
    (folder / ".venv").mkdir()
    (folder / ".venv/x.py").write_text("")
    (folder / "probes.py").unlink()
    got = from_worktree(folder, pushed.lab, pushed.starter)
    assert (got.commit, got.blobs, got.holes_filled) == (None, {CORE: solved}, True)
    assert got.not_graded == ["notes.md", "probes.py (deleted)"]
    (folder / CORE).rename(folder / "core.py")
    with pytest.raises(Refused, match="the file is missing"):
        from_worktree(folder, pushed.lab, pushed.starter)
    (folder / CORE).symlink_to(folder / "core.py")
    with pytest.raises(Refused, match=f"^{CORE}: this is a symbolic link"):
        from_worktree(folder, pushed.lab, pushed.starter)


def test_trees_of_ours(course):
    lab = course.lab("l02")
    starter, reference = starter_tree(course, lab), reference_tree(course, lab)
    assert from_tree(lab, reference, starter).holes_filled
    assert not from_tree(lab, starter, starter).holes_filled
