"""The ground of the attacks: the tiny course, a hub of it, and a learner's repository where any object can be made."""

import io
import json
import os
import subprocess
import sys
from pathlib import Path

import git as gitpython
from corpus import none
from pushed import Pushed
from synthetic import write_course

from grading.course.catalog import Course
from grading.course.submission import Refused, from_commit
from grading.course.trees import reference_tree
from grading.delivery import hub as hubs
from grading.delivery import plumbing, records
from grading.judge.grade import grade
from grading.judge.report import Report

OPS = "mini_infra/tiny/ops.py"
FAKE_HOOK = Path(__file__).parents[1] / "fake_hook.py"
SECRETS = (b"SECRET", b"a hidden line", b"once too often", b"def test_zero", b"test_negated", b"twice = double")


class Ground:
    """`git(...)` runs in the learner's repository; `hub` is a hub whose hook grades nothing unless `real`."""

    def __init__(self, folder: Path, judge=None, real: bool = False):
        self.folder, self.judge = folder, judge
        self.course = Course.load(write_course(folder / "course"))
        self.lab = self.course.lab("l01")
        (folder / "ada.git").mkdir()
        self.ada = Pushed(folder / "ada.git", self.course, "l01")
        self.right = reference_tree(self.course, self.lab)[OPS]
        self.starter = self.ada.starter
        self._hub: Path | None = None
        self.real = real

    @property
    def hub(self) -> Path:
        """Made when it is first asked for, its hook with a judge that reads the verdict out of the answer."""
        if self._hub is None:
            self._hub = self.folder / "hub.git"
            hubs.init(self._hub, self.course.root)
            if not self.real:
                self.hook(f"exec {sys.executable} {FAKE_HOOK}")
            self.git("fetch", "-q", str(self._hub), "refs/heads/lab/l01:refs/remotes/hub/l01")
        return self._hub

    @property
    def repo(self) -> gitpython.Repo:
        return gitpython.Repo(self.hub)

    def hook(self, line: str) -> None:
        path = self.hub / "hooks" / "proc-receive"
        path.write_text(f"#!/bin/sh\nunset $(git rev-parse --local-env-vars)\n{line}\n")

    def git(self, *arguments: str, check: bool = True) -> str:
        """What git said on both channels, with its status in front."""
        who = {
            f"GIT_{role}_{what}": "ada@example.org" for role in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL")
        }
        env = {**os.environ, **who, "GIT_CONFIG_GLOBAL": os.devnull}
        done = subprocess.run(["git", *arguments], cwd=self.ada.folder, env=env, capture_output=True)
        said = f"{done.returncode} {(done.stdout + done.stderr).decode(errors='replace')}"
        assert not check or done.returncode == 0, said
        return said

    def commit(self, edits: dict, without=(), **kinds) -> str:
        """A commit on top of the starter, its objects written by hand."""
        return self.ada.edited(edits, without, **kinds)

    def answer(self, verdict: str = "PASS", more: str = "") -> str:
        """A right answer that tells the fake judge its verdict."""
        return self.commit({OPS: self.right + f"# verdict: {verdict}\n{more}".encode()})

    def push(self, *refspecs: str, options: tuple[str, ...] = ()) -> str:
        flags = [part for option in options for part in ("-o", option)]
        return self.git("push", *flags, str(self.hub), *refspecs, check=False)

    def push_commit(self, sha: str, lab: str = "l01") -> str:
        return self.push(f"{sha}:refs/for/lab/{lab}")

    def graded(self, sha: str, **how) -> Report:
        """The verdict of the engine itself on a commit of the learner's repository."""
        try:
            answer = from_commit(self.ada.folder, sha, self.lab, self.starter, f"refs/heads/{self.lab.branch}")
        except Refused as refused:
            answer = refused
        return grade(self.course, self.lab, answer, judge=self.judge, **how)

    def records(self) -> list[records.Record]:
        return records.everything(self.repo)

    def refs(self) -> list[str]:
        """All refs of the hub but its lab branches."""
        return [ref for ref in plumbing.refs(self.repo) if not ref.startswith("refs/heads/lab/")]

    def received(self, sha: str, ref: str = "refs/for/lab/l01") -> str:
        """The hub's hook in this process with the shared judge: all that the learner's terminal would get."""
        self.git("push", "-q", str(self.hub), f"{sha}:refs/for/lab/l01", check=False)
        lines = [b"version=1\0", None, f"{plumbing.ZERO} {sha} {ref}".encode(), None]
        source = io.BytesIO(b"".join(b"0000" if one is None else b"%04x" % (len(one) + 4) + one for one in lines))
        terminal = io.StringIO()
        hubs.receive(self.hub, source, io.BytesIO(), terminal)
        return terminal.getvalue()

    def assert_sound(self) -> None:
        """The hub's objects and refs are whole, and nothing hidden is among them."""
        if self._hub is None:
            return
        said = self.repo.git.fsck("--strict").splitlines()
        assert all(line.startswith("dangling ") for line in said), said
        objects = self.repo.git.cat_file("--batch-all-objects", "--batch", stdout_as_string=False)
        none("leaks", [secret for secret in SECRETS if secret in objects])
        assert not list((self._hub / "refs").rglob("*.lock"))
        assert all(json.dumps(one.report) for one in self.records())
