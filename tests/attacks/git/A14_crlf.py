"""Windows line ends, or old Macintosh ones, in an otherwise right answer."""

from ground import OPS

EXPECTED = "PASS"
DEFENDS = "control: line ends are the learner's business"


def commits(ground):
    yield ground.commit({OPS: ground.right.replace(b"\n", b"\r\n")})
    yield ground.commit({OPS: ground.right.replace(b"\n", b"\r")})
