"""A tag ref/** on its way to a release: what has to hold of it, what is posted, and that nothing else is touched."""

import json
import shutil
from types import SimpleNamespace

import git as gitpython
import pytest
from fake_github import REPO
from synthetic import write_course
from typer.testing import CliRunner

from grading.authoring import gate
from grading.cli.main import app
from grading.course.catalog import Course
from grading.delivery import plumbing
from grading.delivery.github import reference
from grading.delivery.github.event import TagEvent
from grading.delivery.publish import publish
from grading.delivery.release import WORKFLOW, release
from grading.delivery.remote import PublishError
from grading.sandbox import jail

pytestmark = pytest.mark.skipif(not jail.status().ok, reason="no jail on this machine: no reference counts")
TAG = "ref/l01/v1"


@pytest.fixture(scope="module")
def released(tmp_path_factory):
    """The tiny course, a bare repository with its branches and l01's reference, and a clone of that."""
    folder = tmp_path_factory.mktemp("released")
    root = write_course(folder / "course")
    (root / WORKFLOW).parent.mkdir(parents=True)
    (root / WORKFLOW).write_text("name: release\n")
    course, bare = Course.load(root), gitpython.Repo.init(folder / "bare", bare=True)
    publish(course, course.labs, folder / "bare")
    release(course, [course.lab("l01")], str(folder / "bare"), root, notes="Adding *beats* multiplying.")
    gitpython.Repo.init(folder / "clone").create_remote("origin", f"file://{folder}/bare")
    return SimpleNamespace(course=course, bare=bare, clone=folder / "clone")


@pytest.fixture
def tag(released, git, monkeypatch):
    """tag(name, at) -> an annotated tag in the bare repository for the time of one test."""
    made = []

    def make(name: str, at: str, *options: str) -> None:
        git(released.bare.git_dir, "tag", *(options or ["-a", "-m", "mine"]), name, at)
        made.append(name)

    yield make
    for name in made:
        git(released.bare.git_dir, "tag", "-d", name)


def event(name: str = TAG, created: bool = True) -> TagEvent:
    return TagEvent.model_validate(payload(name, created))


def payload(name: str = TAG, created: bool = True) -> dict:
    return {"ref": f"refs/tags/{name}", "created": created, "repository": {"full_name": REPO}}


@pytest.fixture
def labs(released, github, tmp_path, monkeypatch):
    """labs("verify") -> what the workflow's step ends in; its gate finds `labs.misses` (test_gate.py is about it)."""
    (tmp_path / "event.json").write_text(json.dumps(payload()))
    given = {"GITHUB_OUTPUT": tmp_path / "out", "GITHUB_STEP_SUMMARY": tmp_path / "page", "GITHUB_RUN_ID": "11"}
    given |= {"GITHUB_EVENT_PATH": tmp_path / "event.json", "GITHUB_TOKEN": "x", "GITHUB_API_URL": github.url}
    for name, value in given.items():
        monkeypatch.setenv(name, str(value))

    def run(command: str, *options: str):
        here = ["--repo", str(released.clone), "--course", str(released.course.root)]
        return CliRunner().invoke(app, ["github", command, *here, *options])

    run.misses = []

    def check(course, lab, judges, *, write, mutants, say):
        return gate.Checked(lab.id, misses=run.misses)

    monkeypatch.setattr(gate, "check", check)
    return run


def test_a_tag_that_holds_becomes_one_release(released, github, labs, tmp_path):
    before = plumbing.refs(released.bare)
    done = labs("verify")
    assert (done.exit_code, done.output) == (0, f"{TAG} holds: 3 hidden tests passed, and the author gate\n")
    name, _, sha = (tmp_path / "out").read_text().strip().partition("=")
    assert (name, sha) == ("tag", released.bare.git.rev_parse(TAG))

    github.break_next("POST", "/releases$", 502, done=True)  # the first try is carried out, its answer lost
    for _ in range(2):
        done = labs("release", "--verified", sha)
        assert (done.exit_code, done.output) == (0, f"https://github.com/{REPO}/releases/tag/{TAG}\n")
    (there,) = github.world.releases
    assert (there["tag_name"], there["name"]) == (TAG, "l01: To double, the reference")
    assert (there["draft"], there["make_latest"]) == (False, "false")
    assert there["body"].startswith("Adding *beats* multiplying.\n\nGraded PASS: 3 hidden tests, seed ")
    assert f"[the run](https://github.com/{REPO}/actions/runs/11)" in there["body"]
    assert '-    raise NotImplementedError("l01: write double")\n' in there["body"]
    assert "+    total += x\n" in there["body"]
    assert "name: release" not in there["body"]
    assert plumbing.refs(released.bare) == before


def test_the_author_gate_has_its_say(labs, released, tmp_path, monkeypatch):
    held = SimpleNamespace(lab=released.course.lab("l01"))
    monkeypatch.setattr(reference, "verify", lambda course, event, repo: held)
    labs.misses = ["80.0% of 5 mutants are killed; the bar is 95%"]
    done = labs("verify")
    says = f"::error::{TAG} is not released: the author gate: 80.0%25 of 5 mutants are killed; the bar is 95%25\n"
    assert (done.exit_code, done.output) == (1, says)
    page = f"## `{TAG}` is not released\n\n- the author gate: {labs.misses[0]}\n\nThe tag is left as it is.\n"
    assert (tmp_path / "page").read_text() == page
    assert not (tmp_path / "out").exists()


def test_another_tag_than_the_verified_one_is_not_announced(released, github, forge):
    with pytest.raises(PublishError, match="ref/l01/v1 has moved since it was verified"):
        reference.announce(released.course, event(), released.clone, "0" * 40, "", forge)
    assert github.world.releases == []


@pytest.mark.parametrize(
    ("name", "at", "options", "says"),
    [
        ("ref/l01/v2", f"{TAG}^{{}}", ["--no-sign"], "ref/l01/v2 is no annotated tag of a commit"),
        ("ref/l01/v5", TAG, ["--no-sign"], "ref/l01/v5 is no annotated tag of a commit"),
        ("ref/l01/v3", "lab/l01", [], "ref/l01/v3 is not one commit on top of lab/l01"),
        (
            "ref/l01/v4",
            "other",
            [],
            r"ref/l01/v4 is not main's reference, they differ in \.github/\S+, mini_infra/tiny/ops",
        ),
        ("ref/l09/v1", TAG, [], "ref/l09/v1 is no name of a reference"),
        ("ref/l01/first", TAG, [], "ref/l01/first is no name of a reference"),
        ("ref/l02/v1", f"{TAG}^{{}}", [], "ref/l02/v1 is not one commit on top of lab/l02"),
    ],
    ids=["no-annotation", "another-name", "the-branch-itself", "another-patch", "no-lab", "no-number", "another-lab"],
)
def test_a_tag_that_does_not_hold(released, git, tag, name, at, options, says):
    if at == "other":
        at = git(released.bare.git_dir, "commit-tree", "-m", "other", "-p", "lab/l01", "lab/l01^{tree}").strip()
    tag(name, at, *options)
    before = plumbing.refs(released.bare)
    with pytest.raises(PublishError, match=says):
        reference.verify(released.course, event(name), released.clone)
    assert plumbing.refs(released.bare) == before


def test_a_tag_that_was_moved_or_is_gone(released):
    with pytest.raises(PublishError, match="ref/l01/v1 was moved: a released reference stays"):
        reference.verify(released.course, event(created=False), released.clone)
    with pytest.raises(PublishError, match=r"couldn't find remote ref refs/tags/ref/l01/v7"):
        reference.verify(released.course, event("ref/l01/v7"), released.clone)


def test_a_reference_that_no_longer_passes(released, tmp_path):
    root = shutil.copytree(released.course.root, tmp_path / "course")
    hidden = root / "challenges/l01_double/hidden/test_hidden.py"
    hidden.write_text(hidden.read_text().replace(", 2 * x)", ", 3 * x)"))
    with pytest.raises(PublishError, match=r"^ref/l01/v1 is FAIL \(test_hidden\.py::test_double\): it is not released"):
        reference.verify(Course.load(root), event(), released.clone)
