"""A NUL in a comment, in a string, at the end: the parser and the import system disagree about what follows."""

from ground import OPS

EXPECTED = "REFUSED"
DEFENDS = "what is vetted is what runs"
SAYS = "there is a NUL character here"


def commits(ground):
    for tail in (b"# a\0b\n", b"s = 'a\0b'\n", b"\0", b"x = 1 # \0\nimport os\n"):
        yield ground.commit({OPS: ground.right + tail})
