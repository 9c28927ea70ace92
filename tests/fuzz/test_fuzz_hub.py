"""What reaches the hub's hook: git's pkt-lines, ref names, push options, identities; and the notes that it keeps."""

import contextlib
import io
import json
import re
from dataclasses import asdict
from types import SimpleNamespace

from hostile import FUZZ, SURROGATES, WORDS, damaged, lines_of, near
from hypothesis import given
from hypothesis import strategies as st

from grading.delivery import hub, records
from grading.delivery.pktline import MAX_LINE, Answer, Command, Conversation, ProtocolError
from grading.judge.report import Report

REF = "refs/for/lab/l01"
SHA, NONE = "a" * 40, "0" * 40


def packet(body: bytes) -> bytes:
    return b"%04x" % (len(body) + 4) + body


def push(*lines: bytes, options: tuple[bytes, ...] | None = None) -> bytes:
    hello = b"version=1\0push-options" if options is not None else b"version=1\0"
    told = [packet(hello), b"0000", *(packet(line) for line in lines), b"0000"]
    return b"".join(told + ([*(packet(line) for line in options), b"0000"] if options is not None else []))


def read_back(data: bytes) -> list[bytes]:
    """The sections that we wrote, as git would cut them up."""
    lines = []
    while data:
        length = int(data[:4], 16)
        assert length == 0 or 4 < length <= MAX_LINE
        assert len(data) >= length
        lines.append(data[4:length])
        data = data[max(4, length) :]
    return lines


names = st.binary(max_size=30).filter(lambda name: b"\n" not in name and name)
refs = st.sampled_from([REF.encode(), b"refs/for/lab/l99", b"refs/heads/main"]) | names
command_lines = st.builds(lambda ref: f"{NONE} {SHA} ".encode() + ref, refs)
option_lines = st.tuples(names) | st.just((b"user=" + b"x" * 5000,)) | st.none()


@FUZZ
@given(st.lists(command_lines, max_size=4), option_lines, st.sampled_from([1, 1, 1, 30_000]))
def test_every_command_is_read_and_answered_for_itself(lines, options, length):
    """Bytes that are no UTF-8 come back as they were: git knows the ref only by them."""
    sink = io.BytesIO()
    talk = Conversation(io.BytesIO(push(*lines, options=options)), sink)
    commands = talk.commands()
    assert [one.ref.encode(errors="surrogateescape") for one in commands] == [line.split(b" ", 2)[2] for line in lines]
    sink.truncate(0), sink.seek(0)
    talk.reply([Answer(one, reason="no " * length) for one in commands])
    answers = read_back(sink.getvalue())
    assert [answer.split(b" no")[0] for answer in answers[:-1]] == [b"ng " + line.split(b" ", 2)[2] for line in lines]


WHOLE = push(f"{NONE} {SHA} {REF}".encode(), options=(b"user=ada", b"x"))


@FUZZ
@given(damaged(WHOLE) | st.binary(max_size=60) | st.lists(st.binary(max_size=20).map(packet), max_size=5).map(b"".join))
def test_any_bytes_are_commands_or_a_protocol_error(data):
    talk = Conversation(io.BytesIO(data), io.BytesIO())
    with contextlib.suppress(ProtocolError):
        assert all(type(one) is Command for one in talk.commands())


lab_ids = (
    st.sampled_from(["l01", "l02", "L01", "l1", "l01/x", "../l01", "l01\0", "l01 ", "l" * 300]) | WORDS | SURROGATES
)


@FUZZ
@given(st.sampled_from(["refs/for/lab/", "refs/for/", "refs/heads/lab/", ""]), lab_ids)
def test_a_ref_is_a_lab_of_the_course_or_refused(prefix, name):
    labs = [SimpleNamespace(id="l01"), SimpleNamespace(id="l02")]
    repo = SimpleNamespace(git=SimpleNamespace(cat_file=lambda *_: "commit"))
    desk = SimpleNamespace(course=SimpleNamespace(labs=labs), repo=repo)
    reason, lab = hub._broken(desk, Command(NONE, SHA, prefix + name))
    assert (lab is not None) == (prefix + name in ("refs/for/lab/l01", "refs/for/lab/l02"))
    assert (lab is None) == bool(reason)
    assert len(reason) < 400
    assert "\n" not in reason


@FUZZ
@given(WORDS | SURROGATES, WORDS | SURROGATES)
def test_a_user_is_fit_for_a_ref_name(option, mail):
    repo = SimpleNamespace(git=SimpleNamespace(show=lambda *_: mail))
    assert re.fullmatch(r"[a-z0-9_-]{1,40}", records.user_of(repo, SHA, option))


REPORT = Report(lab="l01", title="T", commit=SHA, base="b", seed=1, verdict="FAIL", counts=True, jail="root", seconds=1)
RECORD = records.Record("l01", "ada", SHA, 1, "2026-01-01T00:00:00Z", REPORT.model_dump(mode="json"), {}, "text")


@FUZZ
@given(st.text(), st.text(), st.none() | st.integers(1, 10**6))
def test_a_record_comes_back_as_it_was(user, text, attempt):
    one = records.Record("l01", user, SHA, attempt, "", RECORD.report, {}, text)
    assert records._parse(json.dumps(asdict(one)) + "\n") == [one]


damaged_reports = near(RECORD.report).map(lambda report: json.dumps(asdict(RECORD) | {"report": report}).encode())


@FUZZ
@given(st.lists(lines_of(asdict(RECORD)) | damaged_reports, max_size=3))
def test_what_is_no_whole_record_is_none(lines):
    """And one that is whole can be counted: feedback never trips over a note."""
    note = b"\n".join([*lines, json.dumps(asdict(RECORD)).encode()]).decode(errors="replace")
    found = records._parse(note)
    assert found[-1] == RECORD
    for one in found:
        assert one.verdict in list(REPORT.verdict.__class__)
        hub.attempt_of(one)
