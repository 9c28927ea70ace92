"""What the judge reads of a rank's other words (events, stacks, its account of an error), and of its own child."""

import json
import tempfile
from pathlib import Path
from types import SimpleNamespace

import pytest
from hostile import FUZZ, JSON, WORDS, damaged, lines_of, near
from hypothesis import given
from hypothesis import strategies as st

from grading import lab as front
from grading.judge.events import Event, claimed_nbytes, events_of
from grading.judge.process import FORMS, read_event
from grading.judge.rank import Answer
from grading.judge.reading import Reading
from grading.judge.report import Frame, Stack, TestResult
from grading.judge.stacks import frame, read_stack

EVENT = {"case": 0, "phase": "", "kind": "post", "op": "all_reduce", "group": [0, 1], "numel": 8, "dtype": "float32"}
EVENT |= {"async_op": False, "file": "mini_infra/a.py", "line": 3}
SOURCE = Path(tempfile.gettempdir()) / "no-such-tree"
LINE = '  File "{}", line {} in {}\n'
PATHS = ["/lab/mini_infra/a.py", "/lab//etc/passwd", "/lab/../x", "/lab/\0", "/x/record.py", "/lab/"]
stack_lines = st.builds(LINE.format, st.sampled_from(PATHS) | WORDS, st.integers(0, 10**8), WORDS)
stacks = st.lists(stack_lines | WORDS, max_size=4).map(lambda lines: "".join(lines).encode(errors="surrogatepass"))


def rank(events: bytes = b"", said: bytes = b"") -> SimpleNamespace:
    answers = [Answer()]
    return SimpleNamespace(number=1, events=events, stacks=said + b"\n", answers=answers, closed=False, exit_code=None)


@FUZZ
@given(st.lists(lines_of(EVENT), max_size=3))
def test_events_are_the_recorders_or_none(lines):
    """Sums over them end, and their groups are of ranks, so that no hidden test trips over one."""
    found = events_of(rank(b"\n".join(lines)))
    for event in found:
        assert type(event) is Event
        assert hash(event) is not None
        assert len(json.dumps(event)) < 1 << 20
    assert claimed_nbytes([found]) >= 0


@FUZZ
@given(stacks, lines_of(EVENT | {"kind": "wait"}))
def test_stacks_are_frames_and_a_short_sentence(said, event):
    stack = read_stack(rank(event, said), "/lab", SOURCE)
    assert type(stack) is Stack
    assert len(stack.says) < 1000


HOST_PATHS = ["{secret}", "/{secret}", "x/../../{secret}", "{secret}\0", "/dev/zero", "/dev/stdin", "//dev/zero", ".."]


@pytest.mark.parametrize("path", HOST_PATHS)
def test_a_frame_shows_no_line_of_a_file_outside_the_tree(tmp_path, path):
    """A rank names the files of its frames: the host's files, and those that never end, are not read for it."""
    secret = tmp_path / "hidden.py"
    secret.write_text("SECRET\n")
    (tmp_path / "tree").mkdir()
    path = path.format(secret=secret)
    assert frame(path, 1, "f", tmp_path / "tree").text == ""
    stack = read_stack(rank(said=LINE.format(f"/lab/{path}", 1, "f").encode()), "/lab", tmp_path / "tree")
    assert [one.text for one in stack.frames] in ([""], [])


ERROR = {"type": "ValueError", "bases": ["ValueError"], "message": "m", "frames": []}
ERROR["frames"] = [{"path": "a.py", "line": 1, "function": "f"}]
errors = near(ERROR) | st.builds(lambda one: ERROR | {"frames": [one]}, near(ERROR["frames"][0]))


@FUZZ
@given(errors)
def test_an_account_of_an_error_is_text_of_known_length(error):
    one = rank()
    one.answers[0].error, one.answers[0].arrived = error, True
    stage = SimpleNamespace(trees={"submission": SOURCE}, sandboxes={"submission": SimpleNamespace(tree="/lab")})
    reading = Reading(stage, "submission", None, SimpleNamespace(ranks=[one]), {})
    kind, text, frames = reading._error(error)
    assert len(kind) <= 100
    assert len(text) <= 4000
    assert all(type(each) is Frame for each in frames)
    [value] = reading._values(one)
    assert type(value) is front.Error
    assert all(len(base) <= 100 for base in value.bases)


RESULT = {"id": "t.py::t", "outcome": "passed", "kind": "ok", "sentence": "It adds."}
told = st.sampled_from(
    [{"event": "test", "result": RESULT}, {"event": "end", "code": 0}, {"event": "start", "ids": []}]
)
results = near(RESULT).map(lambda result: json.dumps({"event": "test", "result": result}).encode())


@FUZZ
@given(told.flatmap(lines_of) | results | damaged(json.dumps({"event": "test", "result": RESULT}).encode()))
def test_what_the_judges_process_says_is_an_event_or_our_fault(line):
    event = read_event(line)
    assert {key: type(value) for key, value in event.items() if key != "result"} == {
        key: kind for key, kind in FORMS[event["event"]].items() if key != "result"
    }
    if event["event"] == "test":
        assert type(event["result"]) is TestResult
    if event["event"] == "infra":
        assert len(event["reason"]) < 400 or b"infra" in line


@FUZZ
@given(JSON)
def test_no_json_but_an_event_is_an_event(value):
    assert read_event(json.dumps(value).encode())["event"] == "infra"
