"""A client of its own makes: refs with newlines, escapes and NUL, which git's own client would not send."""

import os
import subprocess

EXPECTED = "rejected"
DEFENDS = "the hub answers what it was asked and nothing else; the learner's text is shown escaped"
REFS = [b"refs/for/lab/l01\nok refs/heads/main", b"refs/for/lab/\x1b[2Jl01", b"refs/for/\xff", b"refs/for/lab/l01 x"]


def pushes(ground):
    sha = ground.answer()
    yield ground.push(f"{sha}:refs/for/lab/l99")  # the objects
    for ref in REFS:
        yield _spoken(ground, sha.encode(), ref)
    assert ground.refs() == []


def _spoken(ground, sha: bytes, ref: bytes) -> str:
    """What receive-pack says to one command written by hand; the objects are there already."""
    line = b"0" * 40 + b" " + sha + b" " + ref + b"\0report-status"
    empty = subprocess.run(["git", "pack-objects", "--stdout"], input=b"", cwd=ground.hub, capture_output=True).stdout
    message = b"%04x" % (len(line) + 4) + line + b"0000" + empty
    command = ["git", "receive-pack", str(ground.hub)]
    env = {**os.environ, "GIT_CONFIG_GLOBAL": os.devnull}
    done = subprocess.run(command, input=message, capture_output=True, env=env)
    report = done.stdout.rpartition(b"unpack")[2]
    assert b"\x1b" not in done.stderr
    return f"1 {report.decode(errors='replace')} {done.stderr.decode(errors='replace')}"
