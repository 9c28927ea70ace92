"""Bidi controls and letters of other alphabets: a reviewer reads other code than the one that runs."""

from ground import OPS

EXPECTED = "PASS"
DEFENDS = "graded as Python reads it, and the reviewer is warned with line numbers"


def commits(ground):
    tail = "scale = 1  # \u202e evil \u2066\nрас = 2\nﬁle = 3\n"
    yield ground.commit({OPS: ground.right + tail.encode()})


def check(ground, report):
    first = ground.right.decode().count("\n") + 1
    assert [one.line for one in report.warnings] == [first, first + 1, first + 2]
