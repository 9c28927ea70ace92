"""The hub's server: a push is graded by a spare that is used once; whatever dies, the verdict is right."""

import os
import signal
import stat
import subprocess
import sys
import time
from pathlib import Path

import pytest
from processes import PATIENCE_S, end, gone, until

from grading.delivery import freshness, hub, serve
from grading.delivery.hook import address
from grading.judge.spares import kind_of

OPS = "mini_infra/tiny/ops.py"


class Site:
    def __init__(self, tiny, tmp_path, git):
        self.kind, self.hub, self.work, self.git = kind_of(tiny.lab("l01")), tmp_path / "hub.git", tmp_path / "ada", git
        hub.init(self.hub, tiny.root, jailed=False)
        git(tmp_path, "clone", "-q", "-b", "lab/l01", self.hub, "ada")
        stub = 'raise NotImplementedError("l01: write double")'
        self.text = (self.work / OPS).read_text()
        self.answers = {"PASS": self.text.replace(stub, "return x + x", 1), "FAIL": self.text}

    def push(self, verdict: str) -> None:
        (self.work / OPS).write_text(self.answers[verdict] + f"# {time.monotonic_ns()}\n")
        self.git(self.work, "commit", "-q", "-am", "answer")
        said = self.git(self.work, "push", "origin", "HEAD:refs/for/lab/l01", check=False)
        assert said.startswith("0 "), said
        assert f" {verdict}  l01" in said, said

    def start(self) -> int:
        serve.start(self.hub, [self.kind])
        return self.server()

    def server(self, other_than: int = 0) -> int:
        """The process id of the server, once it listens."""
        return until(lambda: (self.hub / address()).exists() and (pid := self.locker()) != other_than and pid)

    def locker(self) -> int:
        """Who holds, or held last, the server's place; 0 where nobody has yet."""
        lock = self.hub / f"{address()}.lock"
        return int(lock.read_text() or 0) if lock.exists() else 0

    def spare(self, server: int, other_than: int = 0) -> int:
        """The process id of a spare, once there is one."""
        return until(lambda: next((pid for pid in children(server) if pid != other_than), 0))


@pytest.fixture
def site(tiny, tmp_path, git):
    made = Site(tiny, tmp_path, git)
    yield made
    if server := made.locker():
        end(server, signal.SIGTERM)


def children(pid: int) -> list[int]:
    """The judges among a server's children: it starts no other program."""
    found = [int(child) for child in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]
    return [child for child in found if b"grading.judge.session" in Path(f"/proc/{child}/cmdline").read_bytes()]


def test_a_spare_is_used_once_and_replaced(site):
    server = site.start()
    assert stat.S_IMODE((site.hub / address()).stat().st_mode) == 0o600
    first = site.spare(server)
    site.push("PASS")
    second = site.spare(server, other_than=first)
    until(lambda: gone(first))
    site.push("FAIL")
    until(lambda: gone(second))
    assert [record.verdict for record in hub.log(site.hub)] == ["PASS", "FAIL"]
    assert not (site.hub / hub.ERRORS).exists()


def test_a_killed_server_leaves_nothing_and_the_next_push_starts_another(site):
    server = site.start()
    spare = site.spare(server)
    end(server)
    until(lambda: gone(spare))
    assert (site.hub / address()).exists()
    site.push("FAIL")
    assert site.server(other_than=server) != server


def test_a_killed_spare_costs_no_verdict(site):
    server = site.start()
    end(site.spare(server))
    site.push("PASS")
    assert hub.log(site.hub)[0].verdict == "PASS"


def test_it_ends_when_idle_and_is_alone(site):
    program = "import sys; from pathlib import Path; from grading.delivery import serve; "
    program += "serve.serve(Path(sys.argv[1]), ['none'], idle_s=-1)"
    assert subprocess.run([sys.executable, "-c", program, site.hub], timeout=PATIENCE_S).returncode == 0
    assert not (site.hub / address()).exists()
    site.start()
    second = subprocess.run(serve.command(site.hub, []), capture_output=True, text=True, timeout=PATIENCE_S)
    assert second.stderr == f"labs: {site.hub} has a server already\n"


def test_every_change_of_the_engine_shows(tmp_path, monkeypatch):
    monkeypatch.setattr(freshness, "ENGINE", tmp_path)
    source = tmp_path / "judge.py"
    source.write_text("one")
    before = freshness.engine_state()
    times = source.stat()
    assert freshness.engine_state() == before
    source.write_text("two")
    os.utime(source, ns=(times.st_atime_ns, times.st_mtime_ns))
    assert freshness.engine_state() != before
    assert freshness.engine_changed_since_start()
