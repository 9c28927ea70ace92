"""Upstream's files on a published branch: there to be read, never graded, the same commits everywhere."""

import git as gitpython
import pytest

from grading.course.snapshots import SnapshotError
from grading.course.submission import Refused, from_commit, from_worktree
from grading.course.trees import starter_tree
from grading.delivery import plumbing, publish

OPS = "mini_infra/tiny/ops.py"
TOP = "upstream/tiny-core-1"


def published(course, path, **options):
    repo = gitpython.Repo.init(path, bare=True)
    return repo, publish.publish(course, course.labs, plumbing.common_dir(repo), **options)


def names(repo, commit):
    return [name for name in repo.git.ls_tree("-r", "--name-only", commit).splitlines() if name.startswith("upstream/")]


def test_both_commits_show_the_named_files_with_the_licence(pinned, tmp_path):
    repo, (first, second) = published(pinned, tmp_path / "bare", upstream="all")
    shown = [f"{TOP}/{path}" for path in ("LICENSE", "tiny/ops.py", "tiny/x.py")]
    assert names(repo, "lab/l01") == names(repo, "lab/l01~1") == shown
    assert names(repo, "lab/l02") == []
    assert "upstream" not in repo.git.diff("--stat", "lab/l01~1", "lab/l01")
    assert (first.upstream, second.upstream) == (["tiny-core-1"], [])
    assert [one.new for one in published(pinned, tmp_path / "other", upstream="all")[1]] == [first.new, second.new]
    assert [one.changed for one in published(pinned, tmp_path / "bare", upstream="fetched")[1]] == [False, False]


def test_an_empty_cache_names_the_fetch_unless_told_otherwise(pinned, tmp_path, monkeypatch):
    monkeypatch.setenv("MAINLINE_CACHE", str(tmp_path / "empty"))
    says = "the branches show files of tiny-core, which is not fetched yet: labs snapshots fetch tiny-core, or publish "
    with pytest.raises(SnapshotError, match=f"^{says}with --without-upstream$"):
        published(pinned, tmp_path / "bare", upstream="all")
    repo, without = published(pinned, tmp_path / "bare", upstream="none")
    assert names(repo, "lab/l01") == []
    assert [one.new for one in published(pinned, tmp_path / "other")[1]] == [one.new for one in without]


def test_they_are_no_edits_of_the_learners_and_no_place_for_a_patch(pinned, tmp_path):
    repo, _ = published(pinned, tmp_path / "bare")
    lab = pinned.lab("l01")
    clone = gitpython.Repo.clone_from(repo.git_dir, tmp_path / "clone", branch=lab.branch)
    starter, tip = starter_tree(pinned, lab), clone.head.commit.hexsha
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
