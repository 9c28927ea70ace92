"""What a learner's own clone holds: the state, `.lab.json`, an examiner's form. One sentence at most, no traceback."""

import contextlib
import json

import pytest
from hostile import FUZZ, JSON, lines_of, near
from hypothesis import given
from hypothesis import strategies as st

from grading.delivery import local, oral
from grading.delivery.clone import CloneError, lab_here
from grading.delivery.local import LabState, Mark

MARK = {"commit": None, "verdict": "FAIL", "topics": ["sum"], "when": ""}
LAB = {"started": "", "attempts": [MARK], "hints": {"sum": 1}, "seals": {}, "solution": "", "branch": "", "failing": ""}


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    folder = tmp_path_factory.mktemp("clone")
    (folder / "labs").mkdir()
    return folder


@FUZZ
@given(lines_of({"l01": LAB}) | near(LAB).map(lambda lab: json.dumps({"l01": lab}).encode()))
def test_a_state_is_whole_or_set_aside(place, text):
    path = place / "labs" / local.FILE
    path.write_bytes(text)
    state = local.load(place)
    for one in state.values():
        assert type(one) is LabState
        assert all(type(mark) is Mark and all(type(topic) is str for topic in mark.topics) for mark in one.attempts)
        assert all(type(level) is int for level in one.hints.values())
    assert local.standings(state).keys() == state.keys()
    assert path.exists() or state == {}


@FUZZ
@given(st.builds(LabState, st.text(), hints=st.dictionaries(st.text(), st.integers(0, 3)), branch=st.text()))
def test_a_state_comes_back_as_it_was(one):
    assert local.STATE.validate_json(json.dumps(local.as_json({"l07": one}))) == {"l07": one}


@FUZZ
@given(lines_of({"id": "l01", "engine": "1", "inputs": "x"}))
def test_a_lab_json_names_a_lab_or_none(place, text):
    (place / ".lab.json").write_bytes(text)
    with contextlib.suppress(CloneError):
        found = lab_here(place)
        assert len(found) == 3
        assert found[1:].isdigit()


FORM = {"lab": "l01", "examiner": "Ada", "passed": True, "questions": {"a": {"passed": True, "note": ""}}}
yaml = st.one_of(
    (near(FORM) | JSON).map(lambda form: json.dumps(form)[:2000]).map(str.encode),
    st.sampled_from([b"2020-13-45", b"!!python/object:os.system {}", b"[" * 200, b"a: &a [*a]", b"? {}", b"!!int x"]),
    st.lists(
        st.text(max_size=4) | st.sampled_from([": ", "- ", "\n", "&a ", "*a", "!!binary ", "0o9", "1:99", "\t"]),
        max_size=6,
    )
    .map("".join)
    .map(str.encode),
)


@FUZZ
@given(yaml)
def test_an_examiners_form_is_read_or_one_line(place, text):
    (place / "form.yaml").write_bytes(text)
    with contextlib.suppress(CloneError):
        assert type(oral._read(place / "form.yaml")) is oral.Form


def test_a_form_that_nests_deeper_than_python_is_one_line(place):
    (place / "form.yaml").write_bytes(b"[" * 1500)
    with pytest.raises(CloneError):
        oral._read(place / "form.yaml")
