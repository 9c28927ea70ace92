"""An editable file of 300 KiB, one of 64 MiB, and one whose header claims two GiB that are not there."""

import hashlib
import zlib

from ground import OPS

EXPECTED = "REFUSED"
DEFENDS = "the size is asked for before a byte is read"
SAYS = "bytes and the limit is 262,144"


def commits(ground):
    for content in (b"#" * (300 << 10), b"#" * (64 << 20)):
        yield ground.commit({OPS: content})
    yield ground.commit({OPS: ("100644", _claims(ground, 2 << 30))})


def _claims(ground, nbytes: int) -> str:
    """A loose blob with a header of its own choice."""
    data = b"blob %d\0x = 1\n" % nbytes
    sha = hashlib.sha1(data).hexdigest()
    path = ground.ada.folder / "objects" / sha[:2] / sha[2:]
    path.parent.mkdir(exist_ok=True)
    path.write_bytes(zlib.compress(data))
    return sha
