"""A push within the limit of bytes whose blob inflates a thousand to one."""

import os
import subprocess

from ground import OPS

EXPECTED = "REFUSED"
DEFENDS = "big blobs are streamed, never unpacked; the hub's folder stays small"
SAYS = "bytes and the limit is 262,144"
MIB = 1 << 20


def pushes(ground):
    zeros = ground.folder / "zeros"
    with open(zeros, "wb") as file:
        os.truncate(file.fileno(), 64 * MIB)
    blob = subprocess.check_output(["git", "hash-object", "-w", zeros], cwd=ground.ada.folder, text=True).strip()
    zeros.unlink()
    yield ground.push_commit(ground.commit({OPS: ("100644", blob)}))
    assert sum(path.stat().st_size for path in ground.hub.rglob("*") if path.is_file()) < 4 * MIB
