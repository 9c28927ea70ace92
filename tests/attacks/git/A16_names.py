"""Other files whose names are options, control characters, not UTF-8, or 4 KiB long."""

from ground import OPS

EXPECTED = "PASS"
DEFENDS = "-z output, -- before paths; names are escaped where they are shown"


def commits(ground):
    names = [b"-rf", b"--output=x", b"a\nb", b"a\tb", b"a\x1b[2Jb", b'"q"', b"\xff\xfe.py", b"l" * 4096, b"@team"]
    yield ground.commit({OPS: ground.right, **dict.fromkeys(names, b"x")})


def check(ground, report):
    assert len(report.not_graded) == 9
    assert all(name.isprintable() and len(name) <= 201 for name in report.not_graded)
