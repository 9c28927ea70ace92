"""Mutants of small sources, to the character; what equivalent.yaml may say of them; which labs are checked."""

import pytest

from grading.authoring.choice import changed_labs, changed_paths, share
from grading.authoring.equivalent import split
from grading.authoring.mutants import mutants
from grading.course.catalog import Course, CourseError

HOLE = "mini_infra/tiny/ops.py::double"
EQUIVALENT = """\
holes:
  {hole}:
    - line: "return x  +  x"
      becomes: ["{becomes}"]
      reason: Only here to be matched.
"""


def body(course: Course, *lines: str) -> Course:
    """The tiny course with these lines as the body of l01's hole, below its docstring."""
    path = course.root / "mini_infra/tiny/ops.py"
    text = path.read_text()
    start, end = text.index("    # Doubling"), text.index("\n\n\ndef quadruple")
    path.write_text(text[:start] + "\n".join(lines) + text[end:])
    return Course.load(course.root)


def made(course: Course) -> list[tuple[str, str]]:
    return [(one.line, one.becomes) for one in mutants(course, course.lab("l01"))]


def test_each_operator_that_fits_changes_one_place(tiny):
    found = made(body(tiny, "    return x + x  # x + 1"))  # a comment is no code
    others = ["-", "*", "/", "//", "%", "**", ">>", "<<", "|", "&", "^"]
    assert found == [("return x + x", f"return x {op} x") for op in others]


def test_numbers_loops_conditions_and_keywords(tiny):
    course = body(tiny, "    for _ in range(2):", "        if not x:", "            break", "    return x")
    assert made(course) == [
        ("if not x:", "if x:"),
        ("if not x:", "if not not x:"),
        ("break", "continue"),
        ("for _ in range(2):", "for _ in range( 3):"),
        ("for _ in range(2):", "for _ in range( 1):"),
        ("for _ in range(2):", "for _ in []:"),
    ]


def test_neither_header_nor_docstring_nor_other_functions_change(tiny):
    course = body(tiny, "    return x")
    path = course.root / "mini_infra/tiny/ops.py"
    path.write_text(path.read_text().replace("def double(x):", "def double(x=1 + 1):"))
    assert made(course) == []


def test_a_hole_in_one_line_is_mutated_in_it(tiny):
    path = tiny.root / "mini_infra/tiny/ops.py"
    text = path.read_text()
    start, end = text.index("def double"), text.index("\n\n\ndef quadruple")
    path.write_text(text[:start] + "def double(x): return x * True" + text[end:])
    assert ("def double(x): return x * True", "def double(x): return x * False") in made(Course.load(tiny.root))


def test_a_mutant_is_the_whole_file_and_shows_its_diff(tiny):
    first = mutants(tiny, tiny.lab("l01"))
    assert first == []  # `total += x` has no operator that cosmic-ray changes
    course = body(tiny, "    return x + x")
    one = mutants(course, course.lab("l01"))[0]
    assert one.source == one.original.replace("return x + x", "return x - x")
    assert one.diff.splitlines()[0:2] == ["--- mini_infra/tiny/ops.py", f"+++ {HOLE}"]
    assert [line for line in one.diff.splitlines()[2:] if line[0] in "+-"] == ["-    return x + x", "+    return x - x"]


def listed(course: Course, becomes: str, hole: str = HOLE) -> Course:
    lab = course.lab("l01")
    (lab.folder / "equivalent.yaml").write_text(EQUIVALENT.format(hole=hole, becomes=becomes))
    return course


def test_an_equivalent_mutant_is_known_by_its_code_alone(tiny):
    course = listed(body(tiny, "    # one line lower", "    return x + x"), "return x*x")
    to_kill, equivalent = split(course.lab("l01"), mutants(course, course.lab("l01")))
    assert [one.becomes for one in equivalent] == ["return x * x"]
    assert len(to_kill) == 10


@pytest.mark.parametrize(("becomes", "hole"), [("return x + 2", HOLE), ("return x*x", HOLE.replace("double", "other"))])
def test_an_entry_that_matches_no_mutant_is_an_error_with_its_line(tiny, becomes, hole):
    course = listed(body(tiny, "    return x + x"), becomes, hole)
    with pytest.raises(CourseError) as error:
        split(course.lab("l01"), mutants(course, course.lab("l01")))
    assert str(error.value) == (
        f"challenges/l01_double/equivalent.yaml:4: no mutant turns 'return x  +  x' of {hole} into {becomes!r}: "
        "mend this entry or take it out"
    )


def test_an_entry_needs_a_reason(tiny):
    course = listed(body(tiny, "    return x + x"), "return x*x")
    path = course.lab("l01").folder / "equivalent.yaml"
    path.write_text(path.read_text().replace("      reason: Only here to be matched.\n", ""))
    with pytest.raises(CourseError, match=r"equivalent\.yaml:3: '.*reason' is missing"):
        split(course.lab("l01"), mutants(course, course.lab("l01")))


def test_shards_split_the_labs_and_leave_none_out():
    labs = list(range(7))
    parts = [share(labs, f"{number}/3") for number in (1, 2, 3)]
    assert parts == [[0, 3, 6], [1, 4], [2, 5]]
    assert share(labs, "1/1") == labs


@pytest.mark.parametrize("shard", ["0/2", "3/2", "2", "a/b", "1/0", "-1/2"])
def test_a_shard_that_is_none_is_refused(shard):
    with pytest.raises(CourseError, match=f"--shard {shard}: say K/N"):
        share([], shard)


def test_changed_labs_are_those_that_stand_on_what_changed(tiny, git):
    root = tiny.root
    git(root, "init", "-q")
    git(root, "add", "-A")
    git(root, "commit", "-q", "-m", "The course")

    def changed(since: str = "HEAD") -> list[str]:
        return [lab.id for lab in changed_labs(tiny, tiny.labs, changed_paths(root, since))]

    assert changed() == []
    (root / "challenges/l02_quadruple/task.md").write_text("changed")
    assert changed() == ["l02"]
    git(root, "add", "-A")
    assert changed() == ["l02"]  # staged
    git(root, "commit", "-q", "-m", "Change a task")
    assert (changed(), changed("HEAD~1")) == ([], ["l02"])
    with pytest.raises(CourseError, match="HEAD~2 is no commit of this repository"):
        changed("HEAD~2")
    (root / "challenges/l01_double/mistakes/new one.py").write_text("new")
    assert changed() == ["l01"]  # git does not know it yet
    (root / "mini_infra/tiny/ops.py").write_text("# changed\n" + (root / "mini_infra/tiny/ops.py").read_text())
    assert changed() == ["l01", "l02"]
    git(root, "checkout", "-q", ".")
    (root / "challenges/l01_double/mistakes/new one.py").unlink()
    (root / "mini_infra/other.py").write_text("")
    assert changed() == []  # no branch has it
    (root / "pyproject.toml").write_text((root / "pyproject.toml").read_text() + "\n")
    assert changed() == ["l01", "l02"]
