"""A right answer with 100,000 further lines, under the limit of bytes."""

import time

from ground import OPS

EXPECTED = "PASS"
DEFENDS = "the number of lines is no reason; the time to vet them is bounded"


def commits(ground):
    began = time.monotonic()
    yield ground.commit({OPS: ground.right + b"\n" * 100_000})
    yield ground.commit({OPS: ground.right + b"#\n" * 100_000})
    assert time.monotonic() - began < 20
