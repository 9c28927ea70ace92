import shutil
import subprocess
import sys
import threading

import git as gitpython
import pytest
from synthetic import write_course

from grading.course.catalog import Course
from grading.delivery import plumbing, publish
from grading.delivery.leaks import Guard
from grading.delivery.publish import PublishError


@pytest.fixture
def bare(tmp_path):
    return gitpython.Repo.init(tmp_path / "bare", bare=True)


COPY = b"def mine(x):\n    total = x.clone()\n    total += x\n    return total\n"


def published(course, repo):
    return publish.publish(course, course.labs, plumbing.common_dir(repo))


def change_task(course: Course, lab: str, text: str) -> None:
    path = course.lab(lab).folder / "task.md"
    path.write_text(path.read_text() + text)


def everything(repo) -> bytes:
    """Every object of the repository, reachable or not."""
    return repo.git.cat_file("--batch-all-objects", "--batch", stdout_as_string=False)


def test_a_new_branch_is_two_root_based_commits(tiny, bare):
    first, second = published(tiny, bare)
    assert (first.branch, first.old, first.changed, first.shows) == ("lab/l01", None, True, [])
    assert second.shows == ["mini_infra/tiny/ops.py::double"]
    assert bare.git.rev_list("--count", "lab/l01") == "2"
    assert bare.git.log("--format=%an %ad %s", "--date=short", "lab/l01").splitlines() == [
        "Mainline 2025-01-02 l01 v1: To double",
        "Mainline 2025-01-02 l01 v1: the snapshot that the lab stands on",
    ]
    assert "def double" not in bare.git.show("lab/l01~1:mini_infra/tiny/ops.py")
    assert 'raise NotImplementedError("l01: write double")' in bare.git.show("lab/l01:mini_infra/tiny/ops.py")
    assert bare.git.fsck("--strict") == ""
    assert list(plumbing.refs(bare)) == ["refs/heads/lab/l01", "refs/heads/lab/l02"]


def test_same_inputs_give_the_same_commits_anywhere(tiny, bare, tmp_path, monkeypatch):
    first = published(tiny, bare)
    monkeypatch.setenv("TZ", "Asia/Tokyo")
    monkeypatch.setenv("GIT_AUTHOR_NAME", "someone else")
    other = gitpython.Repo.init(tmp_path / "other", bare=True)
    copy = Course.load(write_course(tmp_path / "copy"))
    assert [one.new for one in published(copy, other)] == [one.new for one in first]


def test_unchanged_is_a_no_op_and_a_change_appends(tiny, bare):
    first = published(tiny, bare)
    assert [(one.changed, one.new) for one in published(tiny, bare)] == [(False, one.new) for one in first]
    change_task(tiny, "l01", "\nRead it twice.\n")
    second = published(tiny, bare)
    assert [one.changed for one in second] == [True, False]
    assert second[0].old == first[0].new
    assert bare.git.rev_list("--count", "lab/l01") == "4"
    assert bare.git.merge_base("--is-ancestor", first[0].new, second[0].new) == ""
    assert bare.git.log("-1", "--format=%ad", "--date=short", "lab/l01") == "2025-01-03"


def test_no_object_is_hidden_or_an_answer(tiny, bare):
    published(tiny, bare)
    objects = everything(bare)
    for secret in (
        b"SECRET",
        b"once too often",
        b'Zero stays zero."',
        b"Doubling is adding once" * 2,
        b"Nothing added",
    ):
        assert secret not in objects
    assert b"twice = double(once)" not in objects  # l02's own answer
    assert b"total += x" in objects  # l01's, which l02 uses


@pytest.mark.parametrize(
    ("path", "content", "says"),
    [
        ("hidden/test_x.py", b"1", "would show hidden/test_x.py"),
        ("tests/copy.py", None, "challenges/l01_double/hidden/test_hidden.py as tests/copy.py"),
        (
            "tests/help.py",
            COPY,
            "as mine",
        ),
        ("mini_infra/tiny/ops.py", b"def double(x):\n    return x\n", "reference of double, a hole of l01"),
    ],
)
def test_leaks_are_named(tiny, path, content, says):
    lab = tiny.lab("l01")
    content = content or (lab.folder / "hidden/test_hidden.py").read_bytes()
    found = Guard(tiny).leaks(lab, {path: content})
    assert len(found) == 1
    assert says in found[0]


def test_a_leak_stops_the_publication_before_anything_is_written(tiny, bare):
    lab = tiny.lab("l01")
    shutil.copy(lab.folder / "hidden/test_hidden.py", lab.folder / "tests/test_public.py")
    with pytest.raises(PublishError, match=r"^l01: .*hidden/test_hidden\.py as tests/test_public\.py"):
        published(tiny, bare)
    assert everything(bare) == b""


def test_a_branch_that_is_not_ours_is_left_alone(tiny, bare):
    bare.git.update_ref(
        "refs/heads/lab/l01", bare.git.commit_tree("4b825dc642cb6eb9a060e54bf8d69288fbee4904", "-m", "x")
    )
    with pytest.raises(PublishError, match="not made by `labs publish`"):
        published(tiny, bare)


def test_two_publishers_at_once_make_one_version(tiny, bare):
    results = []
    threads = [threading.Thread(target=lambda: results.append(published(tiny, bare))) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(one[0].changed for one in results) == [False, False, True]
    assert bare.git.rev_list("--count", "lab/l01") == "2"


def test_killed_anywhere_it_can_be_run_again(tiny, bare, monkeypatch, tmp_path):
    monkeypatch.setattr(plumbing, "PATIENCE_S", 0.05)
    expected = published(tiny, gitpython.Repo.init(tmp_path / "other", bare=True))
    script = (
        "import os, sys\nfrom pathlib import Path\nfrom grading.course.catalog import Course\n"
        "from grading.delivery import plumbing, publish\n"
        "def die(*a, **k):\n"
        "    (Path(sys.argv[2]) / 'refs/heads/lab').mkdir(exist_ok=True, parents=True)\n"
        "    (Path(sys.argv[2]) / 'refs/heads/lab/l01.lock').touch()\n    os.kill(os.getpid(), 9)\n"
        "setattr(plumbing, sys.argv[3], die)\n"
        "course = Course.load(Path(sys.argv[1]))\npublish.publish(course, course.labs, Path(sys.argv[2]))\n"
    )
    for step in ("fast_import", "transaction"):
        arguments = [str(tiny.root), str(plumbing.common_dir(bare)), step]
        assert subprocess.run([sys.executable, "-c", script, *arguments]).returncode == -9
    assert [one.new for one in published(tiny, bare)] == [one.new for one in expected]
    assert bare.git.fsck("--strict") == ""
    assert list(plumbing.refs(bare)) == ["refs/heads/lab/l01", "refs/heads/lab/l02"]


def test_a_remote_gets_an_atomic_push_and_no_force(tiny, bare, tmp_path, git):
    url = f"file://{bare.git_dir}"
    first = publish.publish_to(tiny, tiny.labs, url, tmp_path)
    assert bare.git.rev_parse("lab/l01") == first[0].new
    change_task(tiny, "l01", "\nMore.\n")
    git(tmp_path, "init", "-q", "work")
    git(tmp_path / "work", "remote", "add", "course", url)
    second = publish.publish_to(tiny, tiny.labs, "course", tmp_path / "work")
    assert [one.changed for one in second] == [True, False]
    assert bare.git.rev_parse("lab/l01~2") == first[0].new
    with pytest.raises(PublishError, match="no repository, URL or remote"):
        publish.publish_to(tiny, tiny.labs, "nowhere", tmp_path / "work")
    with pytest.raises(PublishError, match=r"^file:///nowhere/x: fatal: "):
        publish.publish_to(tiny, tiny.labs, "file:///nowhere/x", tmp_path)


def test_a_checked_out_branch_is_not_pulled_from_under_anybody(tiny, bare, tmp_path, git):
    published(tiny, bare)
    git(tmp_path, "clone", "-q", "-b", "lab/l01", bare.git_dir, "work")
    change_task(tiny, "l01", "\nMore.\n")
    with pytest.raises(PublishError, match="lab/l01 is checked out"):
        publish.publish(tiny, tiny.labs[:1], tmp_path / "work")
    with pytest.raises(PublishError, match="is not a Git repository"):
        publish.publish(tiny, tiny.labs, tmp_path / "nothing")
