"""Frames between the judge and a rank: strict JSON for structure, safetensors for numbers, never pickle.

A frame is `LABF`, the length of the JSON part (u32), the length of the tensor part (u64), then both parts.
Everything that arrives from a rank is hostile: each length, count, depth and digit is checked before it costs anything.
"""

import json
import math
import re
import struct
from dataclasses import dataclass
from typing import Any

HEADER = struct.Struct(">4sIQ")
MAGIC = b"LABF"
MIB = 1 << 20
STRING = re.compile(rb'"(?:[^"\\]|\\.)*"?')
# What safetensors reads back as it wrote it; it saves more than it loads.
DTYPES = {
    *("float64", "float32", "float16", "bfloat16", "complex64", "bool"),
    *("float8_e4m3fn", "float8_e4m3fnuz", "float8_e5m2", "float8_e5m2fnuz"),
    *("int64", "int32", "int16", "int8", "uint64", "uint32", "uint16", "uint8"),
}
TENSOR_HEADER_NBYTES = 2048  # of one tensor in the safetensors part: name, dtype, shape, offsets


class WireError(ValueError):
    """Bytes that the project's own worker would not send, or a value that may not cross the boundary."""


@dataclass(frozen=True)
class WireLimits:
    """What one frame may hold. Lengths in bytes; `items` counts every value and key of the JSON part.

    Both ends hold to them: a value that is too much for a frame is refused by name where it is encoded, so that
    only tampering breaks them where it is decoded.
    """

    frame_nbytes: int = 32 * MIB
    json_nbytes: int = 8 * MIB
    depth: int = 16
    items: int = 500_000
    tensors: int = 10_000
    string_chars: int = 100_000
    digits: int = 20


def encode(value: Any, limits: WireLimits | None = None) -> bytes:
    """One frame holding `value`: None, bool, int, float, str, list, tuple, dict with str keys, torch.Tensor.

    Raises WireError naming the type of anything else (a Work handle, a future, a numpy scalar is no answer), or what
    there is too much of.
    """
    limits = limits or WireLimits()
    tensors: dict[str, Any] = {}
    tree = _to_json(value, tensors, "answer", _Budget(limits), 0)
    text = json.dumps(tree, separators=(",", ":"), allow_nan=False).encode()
    if len(text) > limits.json_nbytes:
        raise WireError(f"an answer of {len(text):,} bytes without its tensors; {limits.json_nbytes:,} are allowed")
    blob = _save(tensors)
    if len(text) + len(blob) > limits.frame_nbytes:
        raise WireError(f"an answer of {len(text) + len(blob):,} bytes; {limits.frame_nbytes:,} are allowed")
    return _pack(text, blob)


def decode(payload: bytes, text_nbytes: int, limits: WireLimits) -> Any:
    """The value of a frame's body (`text_nbytes` of JSON, the rest safetensors). Raises WireError."""
    text = payload[:text_nbytes]
    _refuse_many(text, limits)
    tree = _parse(text, limits)
    tensors = _load(payload[text_nbytes:], min(limits.tensors, text.count(b'"$tensor"')))
    value = _from_json(tree, tensors, _Budget(limits), 0)
    if tensors:
        raise WireError(f"{len(tensors)} tensors in the frame that its JSON part does not name")
    return value


class FrameReader:
    """Cuts a byte stream into values. `feed` returns the complete ones; `partial` tells of bytes left over."""

    def __init__(self, limits: WireLimits):
        self.limits = limits
        self._buffer = bytearray()

    @property
    def partial(self) -> bool:
        return bool(self._buffer)

    def feed(self, data: bytes) -> list[Any]:
        self._buffer += data
        values = []
        while (lengths := self._complete()) is not None:
            text, total = lengths
            body = bytes(self._buffer[HEADER.size : total])
            del self._buffer[:total]
            values.append(decode(body, text, self.limits))
        return values

    def _complete(self) -> tuple[int, int] | None:
        """(JSON length, whole frame's length) once a frame is complete; a bad header is refused at once."""
        if len(self._buffer) < HEADER.size:
            if not MAGIC.startswith(bytes(self._buffer[:4])):
                raise WireError("bytes outside a frame")
            return None
        magic, text, blob = HEADER.unpack_from(self._buffer)
        if magic != MAGIC:
            raise WireError("bytes outside a frame")
        if text > self.limits.json_nbytes or text + blob > self.limits.frame_nbytes:
            raise WireError(f"a frame of {text + blob:,} bytes, more than the {self.limits.frame_nbytes:,} allowed")
        total = HEADER.size + text + blob
        return (text, total) if len(self._buffer) >= total else None


def _pack(text: bytes, blob: bytes) -> bytes:
    return HEADER.pack(MAGIC, len(text), len(blob)) + text + blob


def _to_json(value: Any, tensors: dict[str, Any], at: str, budget: "_Budget", depth: int) -> Any:
    budget.spend(1, depth)
    kind = type(value)
    if value is None or kind in (bool, str):
        return value
    if kind is int:
        if abs(value) >= 1 << 63:
            raise WireError(f"{at} is an integer beyond 64 bits")
        return value
    if kind is float:
        return value if math.isfinite(value) else {"$float": str(value)}
    if kind in (list, tuple):
        below = depth + 1
        if kind is tuple:  # a list in a tag
            budget.spend(1, below)
            below += 1
        items = [_to_json(item, tensors, f"{at}[{index}]", budget, below) for index, item in enumerate(value)]
        return items if kind is list else {"$tuple": items}
    if kind is dict:
        budget.spend(len(value), depth)
        return {_key(k, at): _to_json(v, tensors, f"{at}[{k!r:.50}]", budget, depth + 1) for k, v in value.items()}
    return {"$tensor": _add_tensor(value, tensors, at, budget.limits)}


def _key(key: Any, at: str) -> str:
    if type(key) is not str or key.startswith("$"):
        raise WireError(f"{at} has the key {key!r:.50}; keys are strings that do not start with $")
    return key


def _add_tensor(value: Any, tensors: dict[str, Any], at: str, limits: WireLimits) -> str:
    import torch

    if not isinstance(value, torch.Tensor):
        kinds = "only numbers, strings, lists, dicts and tensors are answers"
        raise WireError(f"{at} is a {type(value).__name__}; {kinds}")
    if value.layout is not torch.strided:
        raise WireError(f"{at} is a tensor of layout {value.layout}; return a dense one")
    if (dtype := str(value.dtype).removeprefix("torch.")) not in DTYPES:
        raise WireError(f"{at} is a tensor of dtype {dtype}; convert it to a plain one")
    if len(tensors) == limits.tensors:
        raise WireError(f"more than {limits.tensors:,} tensors; return them as one")
    name = str(len(tensors))
    tensors[name] = value.detach().resolve_conj().resolve_neg().contiguous().clone()
    return name


def _save(tensors: dict[str, Any]) -> bytes:
    if not tensors:
        return b""
    from safetensors.torch import save

    return save(tensors)


def _load(blob: bytes, named: int) -> dict[str, Any]:
    """The tensors of a frame, of which its JSON part names so many."""
    if not blob:
        return {}
    if int.from_bytes(blob[:8], "little") > TENSOR_HEADER_NBYTES * named:
        raise WireError(f"a tensor part that describes more than the {named} tensors which the JSON part names")
    from safetensors import SafetensorError
    from safetensors.torch import load

    try:
        return load(blob)
    except (SafetensorError, ValueError, KeyError, RuntimeError, TypeError, AttributeError) as error:
        raise WireError(f"a tensor part that safetensors refuses: {error}") from None


def _refuse_many(text: bytes, limits: WireLimits) -> None:
    """Count before json.loads builds: the 3 bytes of an empty list in a list become 64. Commas in strings are none."""

    def marks(part: bytes) -> int:
        return sum(part.count(mark) for mark in (b",", b"[", b"{"))

    if marks(text) > limits.items and marks(STRING.sub(b"", text)) > limits.items:
        raise WireError(f"more than {limits.items:,} values in one frame")


def _parse(text: bytes, limits: WireLimits) -> Any:
    def integer(digits: str) -> int:
        if len(digits) > limits.digits:
            raise WireError(f"an integer of {len(digits)} digits")
        return int(digits)

    def number(digits: str) -> float:
        value = float(digits) if len(digits) <= 64 else math.inf
        if not math.isfinite(value):
            raise WireError("a number beyond float64")
        return value

    def constant(name: str) -> float:
        raise WireError(f"{name} in JSON")

    def pairs(items: list[tuple[str, Any]]) -> dict[str, Any]:
        if len(dict(items)) != len(items):
            raise WireError("the same key twice")
        return dict(items)

    try:
        return json.loads(
            text.decode(), parse_int=integer, parse_float=number, parse_constant=constant, object_pairs_hook=pairs
        )
    except RecursionError:
        raise WireError(f"values nested deeper than {limits.depth}") from None
    except WireError:
        raise
    except ValueError as error:
        raise WireError(f"not JSON: {error}") from None


class _Budget:
    """What is left of a frame's allowance of values."""

    def __init__(self, limits: WireLimits):
        self.limits = limits
        self.items = limits.items

    def spend(self, count: int, depth: int) -> None:
        self.items -= count
        if self.items < 0:
            raise WireError(f"more than {self.limits.items:,} values in one frame")
        if depth > self.limits.depth:
            raise WireError(f"values nested deeper than {self.limits.depth}")


def _from_json(tree: Any, tensors: dict[str, Any], budget: _Budget, depth: int) -> Any:
    budget.spend(1, depth)
    if isinstance(tree, str):
        return _text(tree, budget.limits)
    if isinstance(tree, list):
        return [_from_json(item, tensors, budget, depth + 1) for item in tree]
    if not isinstance(tree, dict):
        return tree
    if len(tree) == 1 and (tag := next(iter(tree))).startswith("$"):
        return _tagged(tag, tree[tag], tensors, budget, depth)
    budget.spend(len(tree), depth)
    return {_plain(key, budget.limits): _from_json(item, tensors, budget, depth + 1) for key, item in tree.items()}


def _tagged(tag: str, body: Any, tensors: dict[str, Any], budget: _Budget, depth: int) -> Any:
    if tag == "$tuple" and isinstance(body, list):
        return tuple(_from_json(body, tensors, budget, depth + 1))
    if tag == "$float" and body in ("nan", "inf", "-inf"):
        return float(body)
    if tag == "$tensor" and isinstance(body, str) and body in tensors:
        return tensors.pop(body)
    raise WireError(f"a malformed {tag[:20]}")


def _plain(key: str, limits: WireLimits) -> str:
    if key.startswith("$"):
        raise WireError(f"the key {key[:20]!r}")
    return _text(key, limits)


def _text(text: str, limits: WireLimits) -> str:
    """Lone surrogates and NUL become replacement characters; a long string is cut and says so."""
    text = text.encode("utf-8", "replace").decode().replace("\0", "�")
    return text if len(text) <= limits.string_chars else text[: limits.string_chars] + "… (cut)"
