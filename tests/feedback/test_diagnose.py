import pytest
from feedback_examples import all_passed, not_run, replaced, report, timing_out, wrong

from grading.course.catalog import CourseError
from grading.feedback import diagnose

A, B, C = "t.py::a", "t.py::b", "t.py::c"


def test_fingerprint_has_kinds_and_notes_and_nothing_of_what_did_not_run():
    found = diagnose.fingerprint(report("FAIL", replaced(all_passed(), wrong(2))))
    assert found["test_linear.py::test_backward_dense[2]"] == "value"
    assert found["note:test_linear.py::test_backward_dense[2]"] == "ratio:none"
    assert found["test_linear.py::test_backward_dense[1]"] == "ok"
    assert len(diagnose.fingerprint(timing_out())) == 7
    assert not_run(wrong(2)).notes == ["ratio:none"]
    assert diagnose.fingerprint(report("FAIL", [not_run(wrong(2))])) == {}


def test_merge_tells_always_from_sometimes():
    merged = diagnose.merge([{A: "value", B: "ok"}, {A: "value", B: "value"}, {A: "value", C: "ok"}])
    assert merged == {A: {"value": "always"}, B: {"ok": "sometimes", "value": "sometimes"}, C: {"ok": "always"}}


def test_a_note_that_comes_and_goes_is_sometimes_empty():
    merged = diagnose.merge([{A: "value", "note:" + A: "tp"}, {A: "value"}])
    assert merged["note:" + A] == {"": "sometimes", "tp": "sometimes"}


def test_distance_looks_at_failures_only():
    stored = {A: {"value": "always"}, B: {"ok": "always"}, C: {"ok": "always"}}
    assert diagnose.distance({A: "value", B: "ok", C: "ok"}, stored) == 0
    assert diagnose.distance({A: "ok", B: "value", C: "ok"}, stored) == 1
    assert diagnose.distance({A: "value", B: "value", C: "ok"}, stored) == 0.5
    assert diagnose.distance({A: "ok", B: "ok", C: "ok"}, stored) == 1


def test_what_is_seen_sometimes_weighs_less():
    stored = {A: {"ok": "sometimes", "value": "sometimes"}}
    assert diagnose.distance({A: "shape"}, stored) == diagnose.MISS_SOMETIMES
    assert diagnose.distance({A: "value"}, stored) == diagnose.HIT_SOMETIMES


def test_a_test_that_did_not_run_is_left_out():
    assert diagnose.distance({A: "timeout@f"}, {A: {"timeout@f": "always"}, B: {"value": "always"}}) == 0


def test_notes_tell_two_mistakes_apart():
    stored = {
        "twice": diagnose.merge([{A: "value", "note:" + A: "tp"}]),
        "half": diagnose.merge([{A: "value", "note:" + A: "1/tp"}]),
    }
    assert diagnose.nearest({A: "value", "note:" + A: "1/tp"}, stored, {"half": "Why a part?"}) == diagnose.Diagnosis(
        name="half", text="Why a part?", distance=0
    )


def test_nothing_near_is_no_diagnosis():
    stored = {"one": {A: {"value": "always"}, B: {"ok": "always"}}}
    assert diagnose.nearest({A: "ok", B: "shape"}, stored) is None
    assert diagnose.nearest({A: "value"}, {}) is None


def test_a_tie_is_no_diagnosis_unless_exact():
    near = {name: {A: {"ok": "sometimes", "value": "sometimes"}} for name in ("one", "two")}
    assert diagnose.nearest({A: "value"}, near) is None
    exact = {name: {A: {"value": "always"}} for name in ("one", "two")}
    assert diagnose.nearest({A: "value"}, exact).name == "one"


def test_clash_names_the_pair():
    same = {A: {"value": "always"}}
    assert diagnose.clash({"b": same, "a": dict(same), "c": {A: {"shape": "always"}}}) == [("a", "b")]


def test_save_and_load(lab):
    stored = {"copy": diagnose.merge([{A: "value", B: "ok"}, {A: "value", B: "value"}])}
    diagnose.save(lab, [A, B], stored)
    assert diagnose.load(lab) == stored
    assert (lab.folder / "fingerprints.json").read_text() == (
        '{\n "tests": [\n  "t.py::a",\n  "t.py::b"\n ],\n "mistakes": {\n  "copy": {\n'
        '   "t.py::a": {"value": "always"},\n'
        '   "t.py::b": {"ok": "sometimes", "value": "sometimes"}\n  }\n }\n}\n'
    )
    diagnose.save(lab, [], {})
    assert diagnose.load(lab) == {}


def test_load_without_a_file_and_with_a_broken_one(lab, course):
    assert diagnose.load(course.lab("l11")) == {}
    (lab.folder / "fingerprints.json").write_text("[]")
    with pytest.raises(CourseError, match=r"^challenges/l05_x/fingerprints.json: .*labs check l05 --write"):
        diagnose.load(lab)


def test_texts_are_docstrings_and_nothing_is_imported(lab):
    assert diagnose.texts(lab) == {"copy_identity": "Each rank has its own share of dX."}
    (lab.folder / "mistakes/bare.py").write_text("x = 1\n")
    with pytest.raises(CourseError, match=r"^challenges/l05_x/mistakes/bare.py:1: a mistake needs a docstring"):
        diagnose.texts(lab)
