"""The editable file is a symbolic link: to a file of the system, to the hidden tests, to a file beside it."""

from ground import OPS

EXPECTED = "REFUSED"
DEFENDS = "the file's mode is read from the tree; links are never followed"
SAYS = "ops.py: this is a symbolic link"


def commits(ground):
    for target in (b"/etc/passwd", b"../../challenges/l01_double/hidden/test_hidden.py", b"given.py", b""):
        yield ground.commit({OPS: ("120000", target), "mini_infra/tiny/given.py": ground.right})
