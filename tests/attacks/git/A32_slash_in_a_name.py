"""A hand-written tree with one entry named mini_infra/tiny/ops.py: no checkout shows what a careless list shows."""

import zlib

from ground import OPS

EXPECTED = "REFUSED"
DEFENDS = "the path is walked tree by tree"
SAYS = "ops.py: "


def commits(ground):
    given = {path: content for path, content in ground.starter.items() if path != OPS}
    for kept in (given, {path: content for path, content in given.items() if "mini_infra/" not in path}):
        top = bytes.fromhex(ground.ada.tree(kept))
        blob = bytes.fromhex(ground.ada.put("blob", ground.right))
        lines = _lines(ground, top) + b"100644 mini_infra/tiny/ops.py\0" + blob
        yield ground.ada.put("commit", b"tree " + ground.ada.put("tree", lines).encode() + WHO)


WHO = b"\nauthor a <a@b> 0 +0000\ncommitter a <a@b> 0 +0000\n\nx\n"


def _lines(ground, sha: bytes) -> bytes:
    """The lines of a tree, raw."""
    path = ground.ada.folder / "objects" / sha.hex()[:2] / sha.hex()[2:]
    return zlib.decompress(path.read_bytes()).partition(b"\0")[2]
