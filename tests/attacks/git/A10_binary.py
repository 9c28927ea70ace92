"""A picture, or bytecode, under the name of the source file."""

import importlib.util
import marshal

from ground import OPS

EXPECTED = "REFUSED"
DEFENDS = "only UTF-8 text is taken"
SAYS = "this is not UTF-8 text"


def commits(ground):
    bytecode = importlib.util.MAGIC_NUMBER + bytes(12) + marshal.dumps(compile("x = 1", "ops.py", "exec"))
    for content in (b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR", bytecode, ground.right.decode().encode("utf-16")):
        yield ground.commit({OPS: content})
