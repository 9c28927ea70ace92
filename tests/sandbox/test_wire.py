"""The wire, case by case; tests/fuzz has its properties."""

import json
import struct

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from safetensors.torch import save

from grading.sandbox.wire import DTYPES, HEADER, MAGIC, FrameReader, WireError, WireLimits, encode

SMALL = WireLimits(frame_nbytes=1 << 16, json_nbytes=1 << 15, depth=4, items=100, string_chars=50)


def read(data: bytes, limits: WireLimits = SMALL) -> list:
    return FrameReader(limits).feed(data)


def frame(text: bytes, blob: bytes = b"") -> bytes:
    return HEADER.pack(MAGIC, len(text), len(blob)) + text + blob


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


@pytest.mark.parametrize(
    ("value", "word"),
    [
        ([[[[[1]]]]], "deeper than 4"),
        ((((1,),),), "deeper than 4"),
        ([0] * 200, "more than 100 values"),
        ([torch.ones(1)] * 3, "more than 2 tensors"),
        ("x" * (1 << 15), "32,770 bytes without its tensors"),
        (torch.ones(1 << 14), "bytes; 65,536 are allowed"),
    ],
)
def test_what_is_too_much_for_a_frame_is_refused_where_it_is_made(value, word):
    """So that an honest answer of any size is the learner's mistake, named, and not tampering."""
    limits = WireLimits(frame_nbytes=1 << 16, json_nbytes=1 << 15, depth=4, items=100, tensors=2)
    with pytest.raises(WireError, match=word):
        encode(value, limits)


@pytest.mark.parametrize("dtype", ["float4_e2m1fn_x2", "float8_e8m0fnu", "complex128"])
def test_a_dtype_that_would_not_be_read_back_is_refused_by_name(dtype):
    odd = torch.zeros(16, dtype=torch.uint8).view(getattr(torch, dtype))
    with pytest.raises(WireError, match=f"answer is a tensor of dtype {dtype}"):
        encode(odd)


@pytest.mark.parametrize("dtype", sorted(DTYPES))
def test_every_dtype_of_the_list_is_read_back(dtype):
    sent = torch.zeros(2, dtype=getattr(torch, dtype))
    (got,) = FrameReader(WireLimits()).feed(encode(sent))
    assert (got.dtype, got.shape) == (sent.dtype, sent.shape)
