"""Upstream's files on a published branch: there to be read, never graded, the same commits everywhere."""

import git as gitpython
import pytest
from synthetic import write_course

from grading.course.catalog import Course
from grading.course.snapshots import SnapshotError
from grading.course.submission import Refused, from_commit, from_worktree
from grading.course.trees import starter_tree
from grading.delivery import plumbing, publish

LOCK = "name: tiny-core\nrepository: https://example.org/tiny\nref: v1\nversion: '1'\nlicence: MIT\ntree: '{}'\n"
SEAL = "seals: {mainline: [{name: up, snapshot: tiny-core, kinds: [differential], anchors: ['tiny/ops.py::double']}]}\n"
OPS = "mini_infra/tiny/ops.py"
TOP = "upstream/tiny-core-1"


@pytest.fixture
def course(tmp_path, monkeypatch) -> Course:
    """The tiny course; l01 has a seal, and its release, which has the reference of l01 and of l02, is in the cache."""
    root = write_course(tmp_path / "course")
    release = tmp_path / "cache/snapshots/tiny-core-1-000000000000"
    for path, content in {
        "LICENSE": b"Do.\n",
        "tiny/ops.py": (root / OPS).read_bytes(),
        "tiny/x.py": b"x = 1\n",
    }.items():
        (release / path).parent.mkdir(parents=True, exist_ok=True)
        (release / path).write_bytes(content)
    monkeypatch.setenv("MAINLINE_CACHE", str(tmp_path / "cache"))
    (root / "upstream_snapshots").mkdir()
    (root / "upstream_snapshots/tiny-core.yaml").write_text(LOCK.format("0" * 64))
    with (root / "challenges/l01_double/lab.yaml").open("a") as file:
        file.write(f"{SEAL}upstream: [tiny-core/tiny/x.py]\n")
    return Course.load(root)


def published(course, path, **options):
    repo = gitpython.Repo.init(path, bare=True)
    return repo, publish.publish(course, course.labs, plumbing.common_dir(repo), **options)


def names(repo, commit):
    return [name for name in repo.git.ls_tree("-r", "--name-only", commit).splitlines() if name.startswith("upstream/")]


def test_both_commits_show_the_named_files_with_the_licence(course, tmp_path):
    repo, (first, second) = published(course, tmp_path / "bare", upstream="all")
    shown = [f"{TOP}/{path}" for path in ("LICENSE", "tiny/ops.py", "tiny/x.py")]
    assert names(repo, "lab/l01") == names(repo, "lab/l01~1") == shown
    assert names(repo, "lab/l02") == []
    assert "upstream" not in repo.git.diff("--stat", "lab/l01~1", "lab/l01")
    assert (first.upstream, second.upstream) == (["tiny-core-1"], [])
    assert [one.new for one in published(course, tmp_path / "other", upstream="all")[1]] == [first.new, second.new]
    assert [one.changed for one in published(course, tmp_path / "bare", upstream="fetched")[1]] == [False, False]


def test_an_empty_cache_names_the_fetch_unless_told_otherwise(course, tmp_path, monkeypatch):
    monkeypatch.setenv("MAINLINE_CACHE", str(tmp_path / "empty"))
    says = "the branches show files of tiny-core, which is not fetched yet: labs snapshots fetch tiny-core, or publish "
    with pytest.raises(SnapshotError, match=f"^{says}with --without-upstream$"):
        published(course, tmp_path / "bare", upstream="all")
    repo, without = published(course, tmp_path / "bare", upstream="none")
    assert names(repo, "lab/l01") == []
    assert [one.new for one in published(course, tmp_path / "other")[1]] == [one.new for one in without]


def test_they_are_no_edits_of_the_learners_and_no_place_for_a_patch(course, tmp_path):
    repo, _ = published(course, tmp_path / "bare")
    lab = course.lab("l01")
    clone = gitpython.Repo.clone_from(repo.git_dir, tmp_path / "clone", branch=lab.branch)
    starter, tip = starter_tree(course, lab), clone.head.commit.hexsha
    folder = tmp_path / "clone"
    assert from_commit(folder, tip, lab, starter).not_graded == []
    assert from_commit(folder, tip, lab, starter, tip).not_graded == []
    assert from_worktree(folder, lab, starter).not_graded == []
    clone.git.rm(OPS)
    clone.git.commit("-m", "no ops")
    with pytest.raises(Refused, match="the file is missing; take it back"):
        from_commit(folder, "HEAD", lab, starter, tip)
    clone.git.checkout(tip, "--", OPS)
    (folder / TOP / "tiny/ops.py").write_text("patched here\n")
    clone.git.commit("-am", "patched upstream")
    assert from_commit(folder, "HEAD", lab, starter, tip).not_graded == [f"{TOP}/tiny/ops.py"]
