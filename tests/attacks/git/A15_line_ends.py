"""Form feed, lone CR and U+2028 move the line numbers that a careless splitter reports."""

from ground import OPS

EXPECTED = "REFUSED"
DEFENDS = "one splitter everywhere, Python's: the line named is the line Python means"
SAYS = "ops.py:3: "


def commits(ground):
    yield ground.commit({OPS: "s = '\u2028\x0b\x1c\x85'\r\x0c\r\nimport subprocess\n".encode() + ground.right})


def check(ground, report):
    assert [one.line for one in report.refusals] == [3]
