import json
import os
import random
import signal
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import git as gitpython
import pytest

from grading.delivery import hub, plumbing, records
from grading.delivery.hook import address

FAKE_HOOK = Path(__file__).parents[1] / "fake_hook.py"
OPS = "mini_infra/tiny/ops.py"


@pytest.fixture
def site(tiny, tmp_path, git):
    """A hub with a judge that does as it is told, and ada's clone of l01's branch."""
    hub.init(tmp_path / "hub.git", tiny.root, jailed=False)
    hook = tmp_path / "hub.git" / "hooks" / "proc-receive"
    hook.write_text(f"#!/bin/sh\nunset $(git rev-parse --local-env-vars)\nexec {sys.executable} {FAKE_HOOK}\n")
    git(tmp_path, "clone", "-q", "-b", "lab/l01", tmp_path / "hub.git", "ada")
    return Site(tmp_path / "hub.git", tmp_path / "ada", git)


class Site:
    def __init__(self, hub_dir, work, git):
        self.hub, self.work, self.git = hub_dir, work, git
        self.repo = gitpython.Repo(hub_dir)

    def commit(self, verdict: str, more: str = "") -> str:
        path = self.work / OPS
        path.write_text(path.read_text() + f"# verdict: {verdict}\n{more}")
        return self.commit_all()

    def commit_all(self) -> str:
        self.git(self.work, "add", "-A")
        self.git(self.work, "commit", "-q", "--allow-empty", "-m", "answer")
        return self.git(self.work, "rev-parse", "HEAD").strip()

    def reset(self) -> None:
        self.git(self.work, "reset", "-q", "--hard", "origin/lab/l01")

    def push(self, *refspecs: str, options: tuple[str, ...] = ()) -> str:
        flags = [part for option in options for part in ("-o", option)]
        return self.git(self.work, "push", *flags, "origin", *(refspecs or ["HEAD:refs/for/lab/l01"]), check=False)

    def sound(self) -> bool:
        """Objects of a refused push stay until git's own gc; nothing else may be remarkable."""
        return all(line.startswith("dangling ") for line in self.repo.git.fsck("--strict").splitlines())

    def refs(self) -> list[str]:
        return [ref for ref in plumbing.refs(self.repo) if not ref.startswith("refs/heads/lab/")]


def test_a_push_is_graded_and_remembered(site):
    sha = site.commit("PASS")
    said = site.push()
    assert said.startswith("0 ")
    lines = [line.split("remote: ", 1)[1].rstrip() for line in said.splitlines() if "remote: " in line]
    assert lines[0] == f"grading lab/l01 at {sha[:7]} …"
    assert lines[1] == "   1/1 passed   It doubles."
    assert "PASS" in lines[2]
    assert "HEAD -> refs/attempts/l01/ada/1" in said
    assert site.refs() == ["refs/attempts/l01/ada/1", "refs/notes/labs"]
    [kept] = records.of_commit(site.repo, sha)
    assert (kept.lab, kept.user, kept.attempt, kept.verdict) == ("l01", "ada", 1, "PASS")
    assert kept.report["commit"] == sha
    assert json.loads(site.repo.git.notes("--ref", "labs", "show", sha))["user"] == "ada"
    assert site.sound()


def test_a_wrong_answer_is_no_failed_push(site):
    site.commit("FAIL")
    said = site.push(options=("user=Bob B.",))
    assert said.startswith("0 ")
    assert "refs/attempts/l01/bob-b/1" in said
    assert "contract" in said or "It doubles." in said
    [attempt] = hub.attempts(site.hub, "l01", "bob-b")
    assert (attempt.n, attempt.verdict, attempt.topics) == (1, "FAIL", ["sum"])


@pytest.mark.parametrize(("edited", "times"), [("l01_double/hidden/test_hidden.py", 2), ("l02_quadruple/task.md", 1)])
def test_a_course_that_is_edited_meanwhile_is_read_anew(site, edited, times):
    site.commit("PASS", f"# edits: 1 {edited}\n")
    said = site.push()
    assert said.startswith("0 ")
    assert said.count("1/1 passed") == times
    assert said.count("the course has changed meanwhile") == times - 1
    assert site.refs() == ["refs/attempts/l01/ada/1", "refs/notes/labs"]


def test_a_course_that_never_rests_counts_nothing(site):
    site.commit("PASS", "# edits: 99 l01_double/hints.yaml\n")
    said = site.push()
    assert "the course is being edited; nothing was counted: push again" in said
    assert site.refs() == []


def test_the_same_commit_again_is_answered_from_the_note(site):
    site.commit("FAIL")
    site.push()
    said = site.push()
    assert said.startswith("0 ")
    assert "this push counts no attempt" in said
    assert "1/1" not in said
    assert "It doubles." in said
    site.commit("PASS", "# once more\n")
    assert "refs/attempts/l01/ada/2" in site.push()
    assert site.refs() == ["refs/attempts/l01/ada/1", "refs/attempts/l01/ada/2", "refs/notes/labs"]


def test_refused_and_infra_count_no_attempt(site):
    (site.work / OPS).write_bytes(b"\0\xff")
    sha = site.commit_all()
    said = site.push()
    assert said.startswith("0 ")
    assert "REFUSED" in said
    assert records.of_commit(site.repo, sha)[0].attempt is None
    site.reset()
    sha = site.commit("INFRA")
    assert site.push().startswith("0 ")
    assert site.refs() == ["refs/notes/labs"]
    assert [one.verdict for one in records.everything(site.repo)] == ["REFUSED", "INFRA"]
    assert "counts no attempt" not in site.push()  # an INFRA is graded again


def test_infra_never_takes_the_place_of_a_verdict(site):
    sha = site.commit("PASS")
    site.push()
    [kept] = records.of_commit(site.repo, sha)
    records.save(site.repo, records.Record(**{**vars(kept), "report": {**kept.report, "verdict": "INFRA"}}))
    assert records.of_commit(site.repo, sha) == [kept]


def test_a_hub_that_breaks_says_so_and_counts_nothing(site):
    site.commit("BROKEN")
    said = site.push()
    assert "the hub failed (RuntimeError), nothing was counted: push again" in said
    assert "Traceback" not in said
    assert "the judge fell over" in (site.hub / hub.ERRORS).read_text()
    assert site.refs() == []


BROKEN = {
    "HEAD:refs/for/lab/l99": "no such lab: l99",
    "HEAD:refs/for/lab/L01": "no such lab: L01",
    "HEAD:refs/for/lab/l02/x": "no such lab: l02/x",
    "HEAD:refs/for/lab/" + "l" * 200: "no such lab: " + "l" * 40,
    "HEAD:refs/for/other": "no such lab: refs/for/other",
    "HEAD:refs/heads/main": "answers are pushed to refs/for/lab/lNN, nothing else",
    "HEAD:refs/heads/lab/l01": "answers are pushed to refs/for/lab/lNN, nothing else",
    ":refs/heads/lab/l02": "answers are pushed to refs/for/lab/lNN, nothing else",
    "HEAD:refs/notes/labs": "answers are pushed to refs/for/lab/lNN, nothing else",
    "HEAD^{tree}:refs/for/lab/l01": "not a commit: push a branch",
    "v1:refs/for/lab/l02": "not a commit: push a branch",
}


def test_broken_requests_are_refused_each_with_its_reason(site):
    site.commit("PASS")
    site.git(site.work, "tag", "-a", "v1", "-m", "tag")
    said = site.push(*BROKEN)
    refusals = [line.rpartition("(")[2].rstrip(")") for line in said.splitlines() if "[remote rejected]" in line]
    assert sorted(refusals) == sorted(BROKEN.values())
    assert "deny updating a hidden ref" in site.push("HEAD:refs/attempts/l01/eve/9")
    assert site.refs() == []
    assert site.sound()


def test_each_command_of_a_push_is_answered_for_itself(site):
    site.commit("PASS")
    said = site.push("HEAD:refs/for/lab/l01", "HEAD:refs/for/lab/l02", "HEAD:refs/for/lab/l77")
    assert "HEAD -> refs/attempts/l01/ada/1" in said
    assert "HEAD -> refs/attempts/l02/ada/1" in said
    assert "(no such lab: l77)" in said
    assert [one.lab for one in records.of_commit(site.repo, site.git(site.work, "rev-parse", "HEAD").strip())] == [
        "l01",
        "l02",
    ]


def test_two_pushes_at_once_are_both_kept(site, tmp_path, git):
    clones = []
    for name in ("eve", "bob", "joe"):
        git(tmp_path, "clone", "-q", "-b", "lab/l01", site.hub, name)
        clones.append(Site(site.hub, tmp_path / name, git))
        clones[-1].commit("FAIL", f"# seconds: 0.3\n# {name}\n")
    with ThreadPoolExecutor() as pool:
        said = list(pool.map(Site.push, clones))
    assert all(text.startswith("0 ") for text in said)
    assert [ref for ref in site.refs() if "attempts" in ref] == [f"refs/attempts/l01/ada/{n}" for n in (1, 2, 3)]
    assert len(records.everything(site.repo)) == 3


def test_killed_while_grading_it_leaves_a_hub_that_works(site):
    site.commit("PASS", "# seconds: 30\n")
    push = subprocess.Popen(
        ["git", "push", "origin", "HEAD:refs/for/lab/l01"], cwd=site.work, stderr=subprocess.PIPE, text=True
    )
    for line in push.stderr:
        if "1/1" in line:
            break
    hooks = subprocess.run(["pgrep", "-f", str(FAKE_HOOK)], capture_output=True, text=True).stdout.split()
    mine = [pid for pid in hooks if Path(f"/proc/{pid}/cwd").resolve() == site.hub.resolve()]
    assert len(mine) == 1
    os.kill(int(mine[0]), signal.SIGKILL)
    push.communicate(timeout=20)
    assert push.returncode != 0
    assert site.refs() == []
    assert site.sound()
    site.reset()
    site.commit("PASS")
    assert "refs/attempts/l01/ada/1" in site.push()


def test_nothing_hidden_is_in_any_object(site):
    site.commit("FAIL")
    site.push()
    objects = site.repo.git.cat_file("--batch-all-objects", "--batch", stdout_as_string=False)
    for secret in (b"SECRET", b"a hidden line", b"once too often", b"test_zero", b"twice = double"):
        assert secret not in objects


def test_attempts_are_not_advertised_and_bombs_are_refused(site):
    site.commit("PASS")
    site.push()
    assert "attempts" not in site.git(site.work, "ls-remote", "origin")
    (site.work / "big").write_bytes(random.randbytes(9 << 20))
    site.commit_all()
    said = site.push()
    assert not said.startswith("0 ")
    assert "maximum allowed size" in said
    assert site.sound()


def test_a_hub_without_its_course_says_what_to_do(site, tiny):
    site.commit("PASS")
    tiny.root.rename(tiny.root.with_name("gone"))
    said = site.push()
    assert "is no working hub" in said
    assert "labs hub init" in said
    assert "Traceback" not in said


def test_init_again_renews(site, tiny):
    task = tiny.lab("l01").folder / "task.md"
    task.write_text(task.read_text() + "\nMore.\n")
    before = site.repo.git.config("--list", "--local")
    assert [one.changed for one in hub.init(site.hub, tiny.root, jailed=False)] == [True, False]
    assert site.repo.git.config("--list", "--local") == before
    assert hub.log(site.hub) == []


def test_the_real_hook_ignores_the_pushers_surroundings(tiny, tmp_path, git, monkeypatch):
    """The whole way with the real judge, from a folder and with variables that would break an open interpreter."""
    hub.init(tmp_path / "hub.git", tiny.root, jailed=False, spares=False)
    git(tmp_path, "clone", "-q", "-b", "lab/l01", tmp_path / "hub.git", "ada")
    site = Site(tmp_path / "hub.git", tmp_path / "ada", git)
    path = site.work / OPS
    path.write_text(path.read_text().replace('raise NotImplementedError("l01: write double")', "return x + x", 1))
    (site.work / "typer.py").write_text("raise SystemExit('the pusher’s typer')\n")
    (site.hub / "grading").mkdir()
    (site.hub / "grading" / "__init__.py").write_text("raise SystemExit('the hub’s grading')\n")
    site.commit_all()
    monkeypatch.setenv("PYTHONPATH", str(site.work))
    (tmp_path / "gitconfig").write_text("[core]\n\thooksPath = /nonexistent\n[log]\n\tshowSignature = true\n")
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", str(tmp_path / "gitconfig"))
    begun = time.monotonic()
    said = site.push()
    assert said.startswith("0 "), said
    assert "PASS" in said
    assert "refs/attempts/l01/ada/1" in said
    assert time.monotonic() - begun < 120
    [kept] = hub.log(site.hub)
    assert (kept.verdict, kept.report["counts"]) == ("PASS", False)
    objects = site.repo.git.cat_file("--batch-all-objects", "--batch", stdout_as_string=False)
    assert b"SECRET" not in objects
    assert b"test_zero(lab)" not in objects
    assert not (site.hub / address()).exists()
