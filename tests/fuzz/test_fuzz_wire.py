"""The wire in both directions: what is encoded comes back as it was; any bytes are a value or a WireError."""

import contextlib
import json
import math
import os
import struct
import time
import tracemalloc

import pytest
import torch
from hostile import DEEP, FUZZ, JSON, damaged, near
from hypothesis import given
from hypothesis import strategies as st
from safetensors.torch import save

from grading.judge.rank import Answer, accept, close_rank, feed, open_rank
from grading.sandbox.wire import HEADER, MAGIC, FrameReader, WireError, WireLimits, encode

SMALL = WireLimits(frame_nbytes=3000, json_nbytes=1500, depth=5, items=60, tensors=3)
DTYPES = [
    torch.float64,
    torch.float32,
    torch.bfloat16,
    torch.float16,
    torch.int64,
    torch.int8,
    torch.bool,
    torch.complex64,
]

tensors = st.builds(
    lambda shape, dtype, turned: (
        torch.arange(math.prod(shape)).reshape(shape).to(dtype).mT
        if turned and len(shape) == 2
        else torch.ones(shape, dtype=dtype)
    ),
    st.lists(st.integers(0, 3), max_size=2),
    st.sampled_from(DTYPES),
    st.booleans(),
)
scalars = st.none() | st.booleans() | st.integers(-(2**63) + 1, 2**63 - 1) | st.floats() | st.text(max_size=20)
keys = st.text(max_size=8).filter(lambda key: not key.startswith("$"))
values = st.recursive(
    scalars | tensors,
    lambda inner: (
        st.lists(inner, max_size=6) | st.lists(inner, max_size=3).map(tuple) | st.dictionaries(keys, inner, max_size=4)
    ),
    max_leaves=10,
)


def frame(text: bytes, blob: bytes = b"") -> bytes:
    return HEADER.pack(MAGIC, len(text), len(blob)) + text + blob


def same(a, b) -> bool:
    if type(a) is not type(b):
        return False
    if isinstance(a, torch.Tensor):
        return a.dtype == b.dtype and a.shape == b.shape and torch.equal(a, b)
    if isinstance(a, float):
        return (a == b and math.copysign(1, a) == math.copysign(1, b)) or (a != a and b != b)
    if isinstance(a, list | tuple):
        return len(a) == len(b) and all(map(same, a, b))
    if isinstance(a, dict):
        return a.keys() == b.keys() and all(same(a[key], b[key]) for key in a)
    return a == b


def printable(value):
    """What the wire keeps of strings: no NUL."""
    if isinstance(value, str):
        return value.replace("\0", "�")
    if isinstance(value, list | tuple):
        return type(value)(printable(item) for item in value)
    return {printable(k): printable(v) for k, v in value.items()} if isinstance(value, dict) else value


@FUZZ
@given(values)
def test_what_is_encoded_comes_back(value):
    """Under small limits as well: what one end encodes, the other accepts, or it is refused before it is sent."""
    assert same(FrameReader(WireLimits()).feed(encode(value))[0], printable(value))
    try:
        data = encode(value, SMALL)
    except WireError:
        return
    assert same(FrameReader(SMALL).feed(data)[0], printable(value))


TENSOR = {"dtype": "F32", "shape": [2], "data_offsets": [0, 8]}
DTYPE_NAMES = ["F64", "F32", "BF16", "F8_E4M3", "F4", "I64", "U64", "BOOL", "C64", "X9", "", 3]
shapes = st.lists(st.sampled_from([0, 1, 2, 8, -1, 2**31, 2**62, 2**63, 2**64, 1.5, None]), max_size=4)
described = st.builds(
    lambda dtype, shape, offsets: TENSOR | {"dtype": dtype, "shape": shape, "data_offsets": offsets},
    st.sampled_from(DTYPE_NAMES),
    shapes,
    st.lists(st.sampled_from([0, 4, 8, 2**64 - 1, -1]), max_size=3),
)
headers = st.dictionaries(st.sampled_from(["0", "1", "a", "__metadata__"]), described | near(TENSOR) | JSON, max_size=3)
blobs = st.one_of(
    st.builds(
        lambda head, lie, rest: struct.pack("<Q", max(0, len(head) + lie)) + head + rest,
        headers.map(json.dumps).map(str.encode),
        st.sampled_from([0, 0, 0, 1, -1, 2**62]),
        st.binary(max_size=17),
    ),
    damaged(save({"0": torch.arange(3.0), "1": torch.ones(2, dtype=torch.bool)})),
    st.binary(max_size=40),
)
tagged = st.dictionaries(
    st.sampled_from(["$tensor", "$tuple", "$float", "$x", "a"]), st.sampled_from(["0", "1", "nan", [1], {}]), max_size=2
)
texts = st.one_of(
    (JSON | tagged | st.lists(tagged, max_size=3)).map(json.dumps).map(str.encode),
    st.sampled_from([b'{"$tensor":"0"}', b'[{"$tensor":"0"},{"$tensor":"1"}]']),
    st.binary(max_size=40),
    DEEP,
)


@FUZZ
@given(
    st.one_of(
        st.builds(frame, texts, blobs),
        st.builds(frame, texts),
        st.binary(max_size=80),
        damaged(encode([1, torch.ones(2)])),
    )
)
def test_any_bytes_are_values_or_a_wire_error(data):
    with contextlib.suppress(WireError):
        FrameReader(SMALL).feed(data)
    with contextlib.suppress(WireError):
        FrameReader(WireLimits()).feed(data)


@FUZZ
@given(st.lists(st.sampled_from([7, 7, 8]), max_size=3), near({"id": 7, "value": [1]}) | JSON, st.binary(max_size=5))
def test_a_rank_answers_one_request_or_tampers(ids, message, junk):
    """Whatever arrives: one answer of a known form, or a sentence about tampering; never an exception."""
    rank, fds = open_rank(0, 1)
    rank.answers.append(Answer())
    with contextlib.ExitStack() as stack:
        stack.callback(close_rank, rank)
        for fd in fds:
            stack.callback(os.close, fd)
        try:
            sent = encode(message)
        except (WireError, UnicodeEncodeError):
            sent = b""
        feed(rank, sent + b"".join(encode({"id": number, "value": 1}) for number in ids) + junk)
        while rank.inbox and not rank.tamper and not rank.answers[-1].arrived:
            accept(rank, rank.inbox.pop(0), 7)
    answer = rank.answers[-1]
    assert not (rank.tamper and answer.arrived and not junk and not ids)
    assert sum(part is not None for part in (answer.error, answer.refused)) <= 1


COSTLY = {
    "empty lists": b"[" + b"[]," * 2_700_000 + b"0]",
    "empty objects": b"[" + b"{}," * 2_700_000 + b"0]",
    "numbers": b"[" + b"0," * 4_000_000 + b"0]",
    "lists in lists": b"[" * 8_000_000,
    "a long string": b'"' + b"a" * 8_000_000 + b'"',
    "keys": b"{" + b",".join(b'"%d":0' % n for n in range(600_000)) + b"}",
}


@pytest.mark.parametrize("name", COSTLY)
def test_a_frame_costs_little_more_than_its_bytes(name):
    """8 MB of JSON take under five times the frame's cap and three seconds, whatever is in them."""
    data = frame(COSTLY[name])
    tracemalloc.start()
    begun = time.process_time()
    with contextlib.suppress(WireError):
        FrameReader(WireLimits()).feed(data)
    spent = time.process_time() - begun
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 5 * WireLimits().frame_nbytes
    assert spent < 3


def test_tensors_that_no_json_names_are_refused_before_they_are_made():
    many = {str(n): TENSOR | {"shape": [0], "data_offsets": [0, 0]} for n in range(50_000)}
    head = json.dumps(many).encode()
    with pytest.raises(WireError, match="describes more"):
        FrameReader(WireLimits()).feed(frame(b'{"$tensor":"0"}', struct.pack("<Q", len(head)) + head))


def test_commas_in_a_string_are_no_values():
    text = "," * 90_000
    assert FrameReader(WireLimits(items=100)).feed(encode([text, [1]])) == [[text, [1]]]
