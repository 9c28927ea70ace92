import pytest

from grading.course import snapshots
from grading.course.catalog import CourseError
from grading.feedback import exam

URL = "https://github.com/NVIDIA/Megatron-LM/blob/core_v0.19.2/megatron/core/tensor_parallel/layers.py#L1139-L1147"


def test_one_question_a_layer_and_the_same_for_the_same_commit(lab):
    questions = exam.load(lab)
    drawn = exam.draw(questions, "8c1f")
    assert [question.layer for question in drawn] == list(exam.LAYERS)
    assert exam.draw(list(reversed(questions)), "8c1f") == drawn
    assert {exam.draw(questions, f"{n:x}")[0].id for n in range(20)} == {"a1", "a2"}


def test_draw_is_pinned(lab):
    assert [one.id for one in exam.draw(exam.load(lab), "8c1f")] == ["a1", "b1", "c1", "d1", "e1"]


def test_asked_has_a_permalink_where_a_lock_is_there_and_never_look_for(lab, course):
    locks = snapshots.load(course.root)
    seen = [exam.asked(one, locks) for one in exam.load(lab)]
    assert seen[3].link == URL
    assert seen[3].where == "megatron-core 0.19.2, megatron/core/tensor_parallel/layers.py L1139-L1147"
    assert (seen[4].where, seen[4].link) == ("unpinned, a.py L3", "")
    assert not any("SECRET" in one.model_dump_json() for one in seen)


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("- {id: a, layer: nowhere, question: q}", r"exam.yaml: question 1.layer: "),
        ("- {id: a, layer: debug_transfer, question: q, lookfor: []}", r"question 1.lookfor: Extra"),
        ("- {id: a, layer: debug_transfer, question: q}", r"exam.yaml: no question for layer patch_contract"),
        ("- {id: a, layer: debug_transfer, question: q}\n" * 2, r"exam.yaml: question id 'a' stands twice"),
        (
            "- {id: a, layer: debug_transfer, question: q, source: {snapshot: s, path: p, lines: [9, 3]}}",
            r"first, last",
        ),
        ("a: 1", r"exam.yaml: list: "),
        ("[", r"exam.yaml:1: "),
    ],
)
def test_a_broken_file_is_named(lab, text, says):
    (lab.folder / "exam.yaml").write_text(text)
    with pytest.raises(CourseError, match=says):
        exam.load(lab)


def test_examiner_script(lab, course, snapshot):
    drawn = exam.draw(exam.load(lab), "8c1f")
    locks = snapshots.load(course.root)
    assert exam.examiner_script(lab, drawn, "+x = 1\n+```\n", True, locks) == snapshot
    assert "SECRET" not in exam.examiner_script(lab, drawn, "+x = 1\n", False, locks)
