"""50,000 files in one commit; ten trees of ten trees … ten deep: a kilobyte pushed, ten thousand million paths."""

from ground import OPS

EXPECTED = "REFUSED"
DEFENDS = "the list of a commit's files has an end, which is reached before memory or patience"
SAYS = "has more than 20,000 files"


def commits(ground):
    empty = ("100644", ground.ada.put("blob", b""))
    yield ground.commit({OPS: ground.right, **{f"data/{number}.txt": empty for number in range(50_000)}})
    for leaf in (b"100644", b"40000"):
        yield ground.commit({OPS: ground.right, "bomb": ("40000", _bomb(ground, leaf, 10))})


def _bomb(ground, mode: bytes, depth: int) -> str:
    """A tree whose ten entries are one and the same smaller bomb."""
    sha = ground.ada.put("blob" if mode == b"100644" else "tree", b"")
    for _ in range(depth):
        line = b"".join(mode + b" %d\0" % number + bytes.fromhex(sha) for number in range(10))
        sha, mode = ground.ada.put("tree", line), b"40000"
    return sha
