"""A sealed course: the private repository, the public one, and everything that the public one would hand out."""

import shutil
import subprocess
from pathlib import Path

import git as gitpython
import pytest
import yaml
from typer.testing import CliRunner

from grading.cli.main import app
from grading.course.catalog import Course, CourseError
from grading.delivery.hidden import Hidden, objects
from grading.delivery.publish import publish_to
from grading.delivery.remote import PublishError

ROOT = Path(__file__).resolve().parents[2]
PUBLIC_PART = {"LICENSE", ".gitignore", "SECURITY.md", "docs/learner.md", ".github/workflows/grade.yml"}


def run(folder, *arguments: str) -> str:
    """git as the fixture of that name, for a fixture that several tests share."""
    who = ["-c", "user.name=ada", "-c", "user.email=ada@example.org"]
    return subprocess.run(["git", *who, *arguments], cwd=folder, capture_output=True, text=True, check=True).stdout


def seal(root: Path, git) -> Course:
    """The course in `root` as the private repository of a sealed one, committed."""
    course = root / "challenges/course.yaml"
    course.write_text("mode: sealed\n" + course.read_text().replace("mode: open", "# "))
    git(root, "init", "-q", "-b", "main")
    return commit(root, git)


def commit(root: Path, git) -> Course:
    git(root, "add", "-A")
    git(root, "commit", "-q", "-m", "the course")
    return Course.load(root)


@pytest.fixture
def private(tiny, git) -> Course:
    for name in PUBLIC_PART:
        (tiny.root / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(ROOT / name, tiny.root / name)
    (tiny.root / "tests").mkdir()
    (tiny.root / "tests/test_ops.py").write_text("# the maintainers' own\n")
    return seal(tiny.root, git)


@pytest.fixture
def public(tmp_path):
    return gitpython.Repo.init(tmp_path / "public.git", bare=True, initial_branch="main")


@pytest.fixture
def published(private, public):
    publish_to(private, private.labs, f"file://{public.git_dir}", private.root)
    return public


def test_the_public_repository_has_the_catalogue_and_the_branches(private, public, monkeypatch):
    monkeypatch.chdir(private.root)
    url = f"file://{public.git_dir}"
    done = CliRunner().invoke(app, ["publish", "--to", url])
    assert done.exit_code == 0, done.output
    assert [line.split()[:2] for line in done.output.splitlines()[1:]] == [
        ["lab/l01", "new"],
        ["lab/l02", "new"],
        ["main", "new"],
    ]
    folders = ["challenges/l01_double", "challenges/l02_quadruple"]
    of_labs = {f"{folder}/{name}" for folder in folders for name in ("lab.yaml", "task.md", "hints.yaml", "exam.yaml")}
    files = set(public.git.ls_tree("-r", "--name-only", "main").splitlines())
    generated = {"README.md", "course.lock", "challenges/course.yaml", "pyproject.toml"}
    assert files == PUBLIC_PART | of_labs | generated
    assert public.git.show("main:course.lock") == gitpython.Repo(private.root).head.commit.hexsha
    assert "[To double](challenges/l01_double/task.md)" in public.git.show("main:README.md")
    asked = yaml.safe_load(public.git.show("main:challenges/l01_double/exam.yaml"))
    assert asked[0] == {"id": "a", "layer": "patch_contract", "question": "Why twice?"}
    assert public.git.fsck("--strict") == ""


def test_again_it_does_nothing_and_a_change_of_hidden_tests_moves_the_lock_alone(private, published, git):
    url, before = f"file://{published.git_dir}", published.git.rev_parse("main")
    assert not any(one.changed for one in publish_to(private, private.labs, url, private.root))
    with (private.lab("l01").folder / "hidden/test_hidden.py").open("a") as file:
        file.write("# stricter\n")
    changed = commit(private.root, git)
    moved = [one.branch for one in publish_to(changed, changed.labs, url, private.root) if one.changed]
    assert moved == ["main"]
    assert published.git.rev_parse("main~1") == before
    assert published.git.diff("--name-only", "main~1", "main") == "course.lock"
    assert published.git.log("--format=%s %ad", "--date=short", "main").splitlines() == [
        "The catalogue, v2 2025-01-03",
        "The catalogue, v1 2025-01-02",
    ]


def test_what_is_not_the_public_repository_stays_as_it_is(private, tmp_path, git):
    git(tmp_path, "clone", "-q", "--bare", private.root, "origin.git")
    git(private.root, "remote", "add", "origin", tmp_path / "origin.git")
    with pytest.raises(PublishError, match="main there was not made by `labs publish`: this course is sealed"):
        publish_to(private, private.labs, "origin", private.root)
    assert list(git(tmp_path / "origin.git", "for-each-ref", "--format=%(refname)").split()) == ["refs/heads/main"]


@pytest.mark.parametrize("path", ["challenges/l01_double/task.md", "challenges/l01_double/tests/test_more.py"])
def test_only_a_commit_is_published(private, public, path):
    (private.root / path).write_text("more\n")
    with pytest.raises(CourseError, match=f"not committed yet: {path}; a sealed course is graded by commit"):
        publish_to(private, private.labs, str(public.git_dir), private.root)
    shutil.rmtree(private.root / ".git")
    with pytest.raises(CourseError, match="is no clone of the private course"):
        publish_to(private, private.labs, str(public.git_dir), private.root)
    assert list(objects(Path(public.git_dir))) == []


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    """The project itself as a sealed course, published: (its secrets, the public repository)."""
    root = tmp_path_factory.mktemp("whole") / "private"
    for name in run(ROOT, "ls-files", "-co", "--exclude-standard", "-z").split("\0"):
        if name and (ROOT / name).is_file():
            (root / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(ROOT / name, root / name)
    course = seal(root, run)
    public = gitpython.Repo.init(root.parent / "public.git", bare=True, initial_branch="main")
    publish_to(course, course.labs, f"file://{public.git_dir}", root, upstream="fetched")
    return Hidden(course), Path(public.git_dir)


def test_nothing_that_the_public_repository_hands_out_is_hidden(whole):
    hidden, public = whole
    kinds = [kind for _, kind, _ in objects(public)]
    assert kinds.count("blob") > 150
    assert kinds.count("commit") == 1 + 2 * len(hidden.course.labs)
    assert hidden.leaks(public) == []


def test_every_secret_of_the_course_would_be_recognised(whole):
    secrets = list(whole[0].secrets())
    assert {Path(name).suffix for name, _ in secrets} >= {".py", ".json", ".yaml"}
    for kind in ("/hidden/", "/mistakes/", "/mainline/", "what to look for in", "the reference of"):
        assert any(kind in name for name, _ in secrets)
    assert [name for name, text in secrets if not whole[0].shown(text) and len(text.split()) > 4] == []


def test_whatever_is_planted_is_found_wherever_it_stands(whole, tmp_path, git):
    """A file of a branch, the message of a commit, that of a tag, an object that no ref reaches, a folder's name."""
    hidden, public = whole
    shutil.copytree(public, tmp_path / "planted.git")
    repo = gitpython.Repo(tmp_path / "planted.git")
    test, mistake = excerpt(hidden, "/hidden/"), excerpt(hidden, "/mistakes/")
    look_for, body = excerpt(hidden, "what to look for in"), excerpt(hidden, "the reference of")
    blob = stored(repo, tmp_path, f"# Notes\n\n> {test.upper()}\n")
    tree = entry(repo, tmp_path, f"100644 blob {blob}\tREADME.md")
    odd = entry(repo, tmp_path, f"040000 tree {tree}\thidden")
    commit = repo.git.commit_tree(tree, "-m", "as in\n\n" + mistake.replace(" ", "\n\t"))
    repo.git.update_ref("refs/heads/side", commit)
    tag = f"object {commit}\ntype commit\ntag t\ntagger A <a@example.org> 1 +0000\n\nSay: *{look_for}*\n"
    tagged = stored(repo, tmp_path, tag, "-t", "tag")
    loose = stored(repo, tmp_path, "\n".join(f"    {word}  # {n}" for n, word in enumerate(body.split())))
    found = {line.split(" shows ")[0] for line in hidden.leaks(tmp_path / "planted.git")}
    places = {"blob": blob, "commit": commit, "tag": tagged, "tree": odd}
    assert found == {f"{kind} {sha[:10]}" for kind, sha in [*places.items(), ("blob", loose)]}


def excerpt(hidden: Hidden, kind: str) -> str:
    """Twenty words out of the middle of the first secret of a kind that has so many."""
    words = next(text.split() for name, text in hidden.secrets() if kind in name and len(text.split()) >= 20)
    middle = len(words) // 2
    return " ".join(words[middle - 10 : middle + 10])


def stored(repo, folder, text: str, *options: str) -> str:
    (folder / "object").write_text(text)
    return repo.git.hash_object("-w", *options, "--", str(folder / "object"))


def entry(repo, folder, line: str) -> str:
    (folder / "tree").write_text(f"{line}\n")
    with (folder / "tree").open("rb") as listing:
        return repo.git.mktree(istream=listing)


def test_a_planted_secret_stops_the_publication(private, public, git):
    answer = "once = double(x)\ntwice = double(once)\nreturn twice\n"
    (private.root / "SECURITY.md").write_text(f"# Security\n\n```\n{answer}```\n")
    planted = commit(private.root, git)
    with pytest.raises(PublishError, match=r"^main: SECURITY.md shows the reference of .*::quadruple$"):
        publish_to(planted, planted.labs, str(public.git_dir), private.root)
    assert list(objects(Path(public.git_dir))) == []


def test_a_released_reference_is_no_secret(private, published):
    answer = "once = double(x)\ntwice = double(once)\nreturn twice\n"
    assert Hidden(private).shown(answer) == {"the reference of mini_infra/tiny/ops.py::quadruple"}
    assert Hidden(private, {"l02"}).shown(answer) == set()
