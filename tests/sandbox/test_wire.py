"""The wire: what is sent comes back as it was, and no bytes of a rank cost more than the cap or escape WireError."""

import contextlib
import json
import math
import struct

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from safetensors.torch import save

from grading.sandbox.wire import HEADER, MAGIC, FrameReader, WireError, WireLimits, encode

SMALL = WireLimits(frame_nbytes=1 << 16, json_nbytes=1 << 15, depth=4, items=100, string_chars=50)


def read(data: bytes, limits: WireLimits = SMALL) -> list:
    return FrameReader(limits).feed(data)


def frame(text: bytes, blob: bytes = b"") -> bytes:
    return HEADER.pack(MAGIC, len(text), len(blob)) + text + blob


scalars = st.none() | st.booleans() | st.integers(-(2**63) + 1, 2**63 - 1) | st.floats() | st.text(max_size=20)
keys = st.text(max_size=8).filter(lambda key: not key.startswith("$"))
values = st.recursive(
    scalars,
    lambda inner: (
        st.lists(inner, max_size=4) | st.lists(inner, max_size=3).map(tuple) | st.dictionaries(keys, inner, max_size=4)
    ),
    max_leaves=12,
)


def same(a, b) -> bool:
    if type(a) is not type(b):
        return False
    if isinstance(a, float):
        return (a == b and math.copysign(1, a) == math.copysign(1, b)) or (a != a and b != b)
    if isinstance(a, list | tuple):
        return len(a) == len(b) and all(map(same, a, b))
    if isinstance(a, dict):
        return a.keys() == b.keys() and all(same(a[key], b[key]) for key in a)
    return a == b


def printable(value):
    """What the wire keeps of strings: no NUL, no lone surrogate."""
    if isinstance(value, str):
        return value.encode("utf-8", "replace").decode().replace("\0", "�")
    if isinstance(value, list | tuple):
        return type(value)(printable(item) for item in value)
    return {printable(k): printable(v) for k, v in value.items()} if isinstance(value, dict) else value


@settings(max_examples=500, deadline=None)
@given(values)
def test_round_trip(value):
    assert same(read(encode(value), WireLimits())[0], printable(value))


@settings(max_examples=500, deadline=None)
@given(st.binary(max_size=300), st.booleans())
def test_any_bytes_end_in_a_value_or_a_wire_error(data, framed):
    with contextlib.suppress(WireError):
        FrameReader(SMALL).feed(frame(data[:150], data[150:]) if framed else data)


@settings(max_examples=300, deadline=None)
@given(st.binary(max_size=400), st.lists(st.integers(1, 60), min_size=1, max_size=20))
def test_pieces_do_not_matter(data, sizes):
    whole = encode({"data": list(data)}) * 2
    reader, got, at = FrameReader(WireLimits()), [], 0
    for size in sizes * (len(whole) // sum(sizes) + 1):
        got += reader.feed(whole[at : at + size])
        at += size
    assert got == [{"data": list(data)}] * 2
    assert not reader.partial


@pytest.mark.parametrize("dtype", [torch.float64, torch.bfloat16, torch.float16, torch.int64, torch.bool, torch.uint8])
def test_tensors_keep_shape_dtype_and_bits(dtype):
    tensor = torch.arange(12).reshape(3, 4).to(dtype)
    (got,) = read(encode({"t": tensor.T, "empty": tensor[:0]}))
    assert got["t"].dtype == dtype
    assert torch.equal(got["t"], tensor.T)
    assert got["empty"].shape == (0, 4)


def test_views_parameters_and_conjugates_are_resolved():
    leaf = torch.nn.Parameter(torch.ones(4, 4))
    conjugate = torch.tensor([1 + 2j]).conj()
    (got,) = read(encode([leaf[:, 1:3].expand(4, 2), conjugate.imag]))
    assert torch.equal(got[0], torch.ones(4, 2))
    assert got[1].item() == -2.0


@pytest.mark.parametrize(
    ("value", "word"),
    [
        (object(), "object"),
        ({1: 2}, "key 1"),
        ({"$tensor": 1}, "$tensor"),
        (1 << 63, "64 bits"),
        ({"a": [set()]}, "answer['a'][0] is a set"),
        (torch.eye(2).to_sparse(), "layout"),
    ],
)
def test_what_is_no_data_is_refused_by_name(value, word):
    with pytest.raises(WireError, match=r".*" + word.replace("[", r"\[").replace("$", r"\$")):
        encode(value)


HOSTILE = {
    "wrong magic": b"XXXX" + bytes(12),
    "json length 2^32-1": struct.pack(">4sIQ", MAGIC, 2**32 - 1, 0),
    "tensor length 2^63": struct.pack(">4sIQ", MAGIC, 2, 2**63),
    "NaN": frame(b"NaN"),
    "Infinity": frame(b"[Infinity]"),
    "1e999": frame(b"1e999"),
    "long integer": frame(b"1" * 30000),
    "duplicate key": frame(b'{"a":1,"a":2}'),
    "not JSON": frame(b"{"),
    "not UTF-8": frame(b'"\xff"'),
    "two values": frame(b"1 2"),
    "empty": frame(b""),
    "deep": frame(b"[" * 6 + b"]" * 6),
    "very deep": frame(b"[" * 15000 + b"]" * 15000),
    "many items": frame(json.dumps([0] * 200).encode()),
    "tensor that is not there": frame(b'{"$tensor":"0"}'),
    "unnamed tensor": frame(b"1", save({"0": torch.ones(1)})),
    "one tensor twice": frame(b'[{"$tensor":"0"},{"$tensor":"0"}]', save({"0": torch.ones(1)})),
    "broken safetensors": frame(b'{"$tensor":"0"}', b"\xff" * 40),
    "overlapping tensors": frame(
        b'[{"$tensor":"a"},{"$tensor":"b"}]',
        (lambda head: struct.pack("<Q", len(head)) + head + bytes(8))(
            json.dumps(
                {
                    "a": {"dtype": "F32", "shape": [2], "data_offsets": [0, 8]},
                    "b": {"dtype": "F32", "shape": [2], "data_offsets": [0, 8]},
                }
            ).encode()
        ),
    ),
    "unknown tag": frame(b'{"$call":"os.system"}'),
    "dollar key": frame(b'{"$a":1,"b":2}'),
    "bad float": frame(b'{"$float":"0x10"}'),
}


@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_frames(name):
    with pytest.raises(WireError):
        read(HOSTILE[name])


def test_half_a_frame_is_waited_for_and_seen():
    reader = FrameReader(SMALL)
    assert reader.feed(encode(1)[:-1]) == []
    assert reader.partial


def test_strings_are_cut_and_lose_nul_and_surrogates():
    (got,) = read(frame(json.dumps(["a\0b", "x" * 60]).encode() + b" "))
    assert got == ["a�b", "x" * 50 + "… (cut)"]
    (got,) = read(frame(b'"\\ud800"'))
    assert got == "?"
