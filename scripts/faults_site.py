"""What scripts/faults.py kills and fills: processes by what they run, and a hub of the tiny course with a clone."""

import contextlib
import os
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import git

ROOT = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT / "tests")]
from synthetic import write_course  # noqa: E402

from grading.delivery import hub, records  # noqa: E402

LAB = "l01"
OPS = "mini_infra/tiny/ops.py"
STUB = 'raise NotImplementedError("l01: write double")'
ANSWERS = {"PASS": "return x + x", "FAIL": "return x * 7"}


@dataclass(frozen=True)
class Process:
    pid: int
    parent: int
    command: str


def descendants() -> list[Process]:
    """Everything that we started and what that started: orphans come to us, for we are their subreaper."""
    found, parents = [], [os.getpid()]
    while parents:
        parent = parents.pop()
        for pid in _children(parent):
            parents.append(pid)
            if (command := _command(pid)) is not None:
                found.append(Process(pid, parent, command))
    return found


def _children(pid: int) -> list[int]:
    """Nothing of a process, or of its threads, that ends while we look."""
    found = []
    with contextlib.suppress(OSError):
        for thread in os.listdir(f"/proc/{pid}/task"):
            with contextlib.suppress(OSError):
                found += map(int, Path(f"/proc/{pid}/task/{thread}/children").read_text().split())
    return found


def _command(pid: int) -> str | None:
    """None of a process that is dead, whether or not it is buried."""
    try:
        if Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] == "Z":
            return None
        return Path(f"/proc/{pid}/cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")
    except OSError:
        return None


def hooks() -> list[Process]:
    return [one for one in descendants() if "grading.delivery.hook" in one.command]


def judges() -> list[Process]:
    return [one for one in descendants() if "grading.judge.session" in one.command]


def zygotes() -> list[Process]:
    """PID 1 of a jail: the child of a bwrap, which has the same words on its command line."""
    ours = descendants()
    outer = {one.pid for one in ours if one.command.startswith(shutil.which("bwrap") or "bwrap")}
    return [one for one in ours if one.parent in outer and "grading.sandbox.zygote" in one.command]


def publishers() -> list[Process]:
    return [one for one in descendants() if "grading.cli.main publish" in one.command]


class Site:
    """A hub of the tiny course with a learner's clone, and an answer for each verdict."""

    def __init__(self, folder: Path):
        self.folder, self.hub, self.work = folder, folder / "hub.git", folder / "ada"
        self.root = write_course(folder / "course")
        self.environment = {**os.environ, "HOME": str(folder), "GIT_CONFIG_GLOBAL": os.devnull}
        for role in ("AUTHOR", "COMMITTER"):
            self.environment |= {f"GIT_{role}_NAME": "ada", f"GIT_{role}_EMAIL": "ada@example.org"}
        hub.init(self.hub, self.root, jailed=True, spares=False)  # nothing may be left after a push
        self.repo = git.Repo(self.hub)
        self.git("clone", "-q", "-b", f"lab/{LAB}", self.hub, self.work)
        self.answers = {verdict: self._commit(body) for verdict, body in ANSWERS.items()}

    def git(self, *arguments: object) -> str:
        folder = self.work if self.work.exists() else self.folder
        command = ["git", *map(str, arguments)]
        return subprocess.run(
            command, cwd=folder, env=self.environment, check=True, capture_output=True, text=True
        ).stdout

    def _commit(self, body: str) -> str:
        self.git("reset", "-q", "--hard", f"origin/lab/{LAB}")
        path = self.work / OPS
        path.write_text(path.read_text().replace(STUB, body, 1))
        self.git("commit", "-q", "-am", "answer")
        return self.git("rev-parse", "HEAD").strip()

    def push(self, verdict: str, user: str) -> subprocess.Popen:
        """A push that deserves `verdict`."""
        refspec = f"{self.answers[verdict]}:refs/for/lab/{LAB}"
        command = ["git", "push", "-o", f"user={user}", "origin", refspec]
        pipes = {"stdout": subprocess.DEVNULL, "stderr": subprocess.PIPE}
        return subprocess.Popen(command, cwd=self.work, env=self.environment, text=True, errors="replace", **pipes)

    def verdict(self, verdict: str, user: str) -> records.Record | None:
        return records.find(self.repo, self.answers[verdict], LAB, user)

    def publish(self) -> subprocess.Popen:
        command = [sys.executable, "-m", "grading.cli.main", "publish", "--to", str(self.hub)]
        command += ["--course", str(self.root)]
        pipes = {"stdout": subprocess.DEVNULL, "stderr": subprocess.PIPE}
        return subprocess.Popen(command, cwd=self.folder, env=self.environment, text=True, **pipes)


def memory_mb() -> float:
    """What all descendants hold together; a page shared by several counts once."""
    total = 0
    for one in descendants():
        try:
            lines = Path(f"/proc/{one.pid}/smaps_rollup").read_text().splitlines()
            total += next(int(line.split()[1]) for line in lines if line.startswith("Pss:"))
        except (OSError, StopIteration):
            continue
    return total / 1024
