"""What the fuzz tests share: how many examples they draw, and what a learner could send where text is read.

`make test` draws 500 examples a test; `make fuzz` sets MAINLINE_FUZZ=nightly and draws 10,000.
"""

import json
import os

from hypothesis import HealthCheck, settings
from hypothesis import strategies as st

CALM = {"deadline": None, "suppress_health_check": list(HealthCheck), "print_blob": True}
settings.register_profile("quick", max_examples=500, **CALM)
settings.register_profile("nightly", max_examples=10_000, **CALM)
NIGHTLY = os.environ.get("MAINLINE_FUZZ") == "nightly"
FUZZ = settings.get_profile("nightly" if NIGHTLY else "quick")

SURROGATES = st.text(st.characters(codec=None, categories=["Cs", "Ll", "Nd", "Cc"]), max_size=8)
NASTY = ["", "/", "..", "/etc/passwd", "$x", "\0", "l05", "a" * 5000, "\ud800", "\udcff", "\n", "é", "𝐝", "-rf", "{}"]
WORDS = st.sampled_from(NASTY) | st.text(max_size=8)
NUMBERS = st.integers() | st.floats() | st.sampled_from([2**63, -(2**63), 10**400, 1 << 62])
RECURSIVE = st.recursive(
    st.none() | st.booleans() | NUMBERS | WORDS | SURROGATES,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(WORDS, inner, max_size=4),
    max_leaves=10,
)
SAMPLED = [None, True, 0, -1, 1.5, float("nan"), float("inf"), 2**63, 10**400, *NASTY]
SAMPLED += [[], {}, [[]], [{}], {"a": []}, [1, "x", None], {"": {"": {}}}, [0, [1]], {"line": 1}, {"$tensor": "0"}]
JSON = RECURSIVE if NIGHTLY else st.sampled_from(SAMPLED)  # to draw trees takes longer than to read them
DEEP = st.sampled_from(
    [b"[" * 100_000, b"[" * 2000 + b"]" * 2000, b'{"a":' * 5000, b"1" * 5000, b"NaN", b"\xff\xfe[\0"]
)


def near(valid: dict[str, object]) -> st.SearchStrategy[dict[str, object]]:
    """`valid` with some fields replaced, removed or added: most of it is right, as an attacker would have it."""
    changes = st.dictionaries(st.sampled_from([*valid, "more"]), JSON, max_size=2)
    gone = st.lists(st.sampled_from([*valid]), max_size=1)
    return st.builds(lambda new, out: {k: v for k, v in (valid | new).items() if k not in out}, changes, gone)


def lines_of(valid: dict[str, object]) -> st.SearchStrategy[bytes]:
    """JSON text near a valid object, or damaged, or something else altogether."""
    text = (near(valid) | JSON).map(json.dumps).map(str.encode)
    return text | damaged(json.dumps(valid).encode()) | st.binary(max_size=60) | DEEP


def damaged(whole: bytes) -> st.SearchStrategy[bytes]:
    """`whole` cut short, or with some bytes in the middle replaced."""
    places = st.integers(0, max(1, len(whole)))
    return st.builds(
        lambda a, b, new: whole[: min(a, b)] + new + whole[max(a, b) :], places, places, st.binary(max_size=9)
    )
