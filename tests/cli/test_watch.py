"""`labs watch` as a learner has it: a real terminal or pipe, real saves, and nothing left when it ends."""

import fcntl
import json
import os
import pty
import re
import select
import signal
import subprocess
import sys
import termios
from pathlib import Path

import pytest
from processes import PATIENCE_S, gone, until

from grading.course.catalog import Course
from grading.delivery import local
from grading.sandbox.scratch import PREFIX

OPS = "mini_infra/tiny/ops.py"
STUB = 'raise NotImplementedError("l01: write double")'
NEGATED = '''

@lab.guard
def test_negated(lab):
    """negated still negates."""
    lab.close(lab.run("negated", x=torch.ones(2))[0], -torch.ones(2))
'''
LABS = [sys.executable, "-c", "from grading.cli.main import main; main()"]


@pytest.fixture
def tiny(tiny) -> Course:
    """With a second public test, of what is given."""
    tests = tiny.root / "challenges/l01_double/tests/test_public.py"
    tests.write_text(tests.read_text() + NEGATED)
    return Course.load(tiny.root)


@pytest.fixture
def work(labs, clone, tmp_path) -> Path:
    assert labs("start", "l01", folder=clone).code == 0
    return tmp_path / "l01"


@pytest.fixture
def start(work, tmp_path):
    """start(*arguments, stdout=…): a `labs watch` whose temporary files lie in tmp_path/tmp."""
    (tmp_path / "tmp").mkdir()
    started = []

    def run(*arguments, **streams) -> subprocess.Popen:
        environment = os.environ | {"TMPDIR": str(tmp_path / "tmp"), "TERM": "xterm", "COLUMNS": "100", "LINES": "40"}
        process = subprocess.Popen(
            [*LABS, "watch", *arguments], cwd=work, env=environment, start_new_session=True, **streams
        )
        started.append(process)
        return process

    yield run
    for process in started:
        process.kill()
        process.wait()


def below(pid: int) -> list[int]:
    """The processes that a process has started, and those that they have."""
    try:
        own = [int(one) for one in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]
    except OSError:
        return []
    return own + [other for one in own for other in below(one)]


def folders(temporary: Path) -> list[str]:
    return [path.name for path in temporary.glob(f"{PREFIX}*")]


def truncated(path: Path, text: str) -> None:
    """As editors save that write over the file."""
    path.write_text(text)


def renamed(path: Path, text: str) -> None:
    """As editors save that put a new file in the old one's place."""
    fresh = path.with_name(".ops.py.swp")
    fresh.write_text(text)
    fresh.replace(path)


class Told:
    """A watch that prints JSON."""

    def __init__(self, process: subprocess.Popen, work: Path):
        self.process, self.work = process, work

    def line(self) -> dict:
        assert select.select([self.process.stdout], [], [], PATIENCE_S)[0]
        return json.loads(self.process.stdout.readline())

    def after(self, save, text: str) -> tuple[str, list[str], str]:
        """Verdict, the tests that were run, problem. The watch sleeps meanwhile, so that it finds one change."""
        self.process.send_signal(signal.SIGSTOP)
        save(self.work / OPS, text)
        self.process.send_signal(signal.SIGCONT)
        done = self.line()
        return done["report"]["verdict"], [test.partition("::")[2] for test in done["ran"]], done["problem"]

    def until(self, problem: str) -> dict:
        """The first round with this problem: a checkout is more than one change."""
        return until(lambda: (done := self.line())["problem"].startswith(problem) and done)


def test_each_save_runs_what_it_touches(start, work, git):
    told = Told(start("--json", stdout=subprocess.PIPE, stderr=subprocess.PIPE, bufsize=0), work)
    text = (work / OPS).read_text()
    right, wrong = (text.replace(STUB, f"return {value}") for value in ("x + x", "x * 3"))
    bad = ("return -x", "return x")
    first = told.line()
    assert (first["report"]["verdict"], first["problem"]) == ("FAIL", "")
    assert first["ran"] == ["test_public.py::test_double", "test_public.py::test_negated"]
    assert told.after(truncated, right) == ("PASS", ["test_double"], "")
    assert told.after(renamed, right.replace(*bad)) == ("FAIL", ["test_negated"], "")
    assert told.after(truncated, wrong.replace(*bad)) == ("FAIL", ["test_double"], "")
    assert told.after(renamed, "LIMIT = 3\n" + right) == ("PASS", ["test_double", "test_negated"], "")
    assert told.after(truncated, right.replace(*bad)) == ("FAIL", ["test_double", "test_negated"], "")
    both = right + "\n\ndef unused():\n    pass\n\n\nLIMIT = 4\n"
    assert told.after(renamed, both) == ("PASS", ["test_negated", "test_double"], "")  # what failed last goes first
    assert told.after(truncated, both.replace("pass", "return 1")) == ("PASS", [], "")

    line = len(right.splitlines()) + 1
    assert told.after(renamed, right + "def broken(:\n") == ("PASS", [], f"{OPS}:{line}: invalid syntax")
    refused = told.after(truncated, right.replace("x + x", "eval('x + x')"))
    assert refused[:2] == ("PASS", [])
    assert refused[2].startswith(f"{OPS}:6: ")
    (work / OPS).unlink()
    assert told.line()["problem"].startswith(f"{OPS}: the file is missing; take it back")
    assert told.after(renamed, wrong) == ("FAIL", ["test_double", "test_negated"], "")
    git(work, "checkout", "-q", "-f", "hub/lab/l02")
    told.until("this is l02's work tree now: the watch goes on when l01 is checked out again")
    git(work, "checkout", "-q", "-f", "l01")
    assert told.line()["report"]["verdict"] == "FAIL"
    assert local.load_here(work)["l01"].failing == "sum"

    told.process.stdout.close()  # as `| head` does
    renamed(work / OPS, right)
    assert told.process.wait(PATIENCE_S) == 0
    assert told.process.stderr.read() == b""


class Terminal:
    """A pseudo-terminal and what was written on it."""

    def __init__(self):
        self.ours, self.theirs = pty.openpty()
        self.text, self.read = "", 0

    def take(self) -> None:
        """Become the terminal of a process that leads its session; Ctrl-C reaches it, as it would not a job of `&`."""
        signal.signal(signal.SIGINT, signal.SIG_DFL)
        fcntl.ioctl(self.theirs, termios.TIOCSCTTY, 0)

    def await_text(self, pattern: str) -> None:
        """Read on until it says so, after what was awaited before."""
        while not (found := re.compile(pattern).search(self.text, self.read)):
            assert select.select([self.ours], [], [], PATIENCE_S)[0], self.text[self.read :]
            data = os.read(self.ours, 1 << 16).decode(errors="replace")
            self.text += re.sub(r"\x1b\[[0-9;?]*[A-Za-z]|\r", "", data)
        self.read = found.end()


def test_a_terminal_shows_a_table_and_ctrl_c_leaves_nothing(start, work, tmp_path):
    screen = Terminal()
    streams = dict.fromkeys(("stdin", "stdout", "stderr"), screen.theirs)
    watch = start(preexec_fn=screen.take, **streams)
    text = (work / OPS).read_text()
    screen.await_text("labs watch l01  To double  Ctrl-C ends")
    screen.await_text(r"✗ FAIL  1 of 2 public tests passed · \d+\.\d\d s · saved ops.py: 2 tests of 2 run")
    screen.await_text(r"✗ 1 +The result is the right multiple of x\..*\n.*✓ given negated still negates\.")
    screen.await_text(r"Not written yet: 1 test stopped at 1 hole\.")
    renamed(work / OPS, text.replace(STUB, "return x + x"))
    screen.await_text(r"✓ PASS  2 of 2 public tests passed · \d+\.\d\d s · saved ops.py: 1 test of 2 run")
    truncated(work / OPS, text.replace(STUB, "while True: pass"))
    screen.await_text(r"… 1 +The result is")
    children = below(watch.pid)
    assert len(children) > 1
    assert folders(tmp_path / "tmp")
    os.write(screen.ours, b"\x03")
    assert watch.wait(PATIENCE_S) == 0
    until(lambda: all(map(gone, children)))
    assert folders(tmp_path / "tmp") == []


def test_without_a_lab_it_says_so(labs, clone):
    said = labs("watch", folder=clone)
    assert (said.code, said.out) == (4, "")
    assert said.err.startswith("labs: which lab? this is no lab's work tree")
