import pytest
from feedback_examples import all_passed, failing, replaced, report, wrong

from grading.course.catalog import CourseError
from grading.feedback import hints


def test_levels_rise_with_failing_attempts():
    assert [hints.level(failing, [1, 3, 5]) for failing in range(7)] == [0, 1, 1, 2, 2, 3, 3]
    assert hints.level(1, [1, 3, 5], asked=2) == 2
    assert hints.level(9, [1, 3, 5], asked=9) == 3


def test_topic_is_the_first_failing_tests_in_contract_order():
    assert hints.topic_of(failing()) == "adjoint"
    late = wrong(2).model_copy(update={"contract": [11], "topic": "late"})
    assert hints.topic_of(report("FAIL", replaced(all_passed(), late, wrong(4)))) == "adjoint"
    assert hints.topic_of(report("PASS", all_passed())) == ""


def test_give(lab):
    loaded = hints.load(lab)
    assert hints.give(loaded, "adjoint", 2) == hints.Hint(topic="adjoint", level=2, text="Copy is [I I] transposed.")
    assert hints.give(loaded, "adjoint", 0) is None
    assert hints.give(loaded, "unknown", 1) is None


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("adjoint: [a, b]\n", r"hints.yaml:1: topic adjoint needs a list of 3 levels"),
        ("adjoint:\n  - a\n  - b: c\n  - d\n", r"hints.yaml:3: a level is a sentence"),
        ("- a\n", r"hints.yaml:1: "),
        ("a: [\n", r"hints.yaml:\d: "),
    ],
)
def test_a_broken_file_is_named_with_its_line(lab, text, says):
    (lab.folder / "hints.yaml").write_text(text)
    with pytest.raises(CourseError, match=says):
        hints.load(lab)


def test_a_lab_without_hints(course):
    assert hints.load(course.lab("l11")) == {}
