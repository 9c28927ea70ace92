"""A Git LFS pointer stands where the code should."""

from ground import OPS

EXPECTED = "REFUSED"
DEFENDS = "the blob itself is graded, whatever it points at"
SAYS = "this is a Git LFS pointer"


def commits(ground):
    for version in (b"https://git-lfs.github.com/spec/v1", b"https://git-lfs.evil/spec/v9"):
        yield ground.commit({OPS: b"version " + version + b"\noid sha256:" + b"0" * 64 + b"\nsize 9\n"})
