import git as gitpython
import pytest

from grading.delivery import plumbing
from grading.delivery.plumbing import ZERO, RefsMoved, RefUpdate
from grading.delivery.stream import Stream

TREE = {"a/b.py": b"x", "a.py": b"z", "a-b": b"", 'we"ird\\name': b"e", "sp ace/é": b"1", "new\nline": b"2"}


@pytest.fixture
def repo(tmp_path):
    return gitpython.Repo.init(tmp_path / "bare", bare=True)


def commit(repo, ref="refs/publish/x", tree=TREE, parent=None, date=1) -> str:
    stream = Stream("A <a@example.org>")
    stream.commit(ref, "one\n", date, tree, parent)
    plumbing.fast_import(repo, stream.finish())
    return plumbing.refs(repo, ref)[ref][0]


def test_the_tree_id_is_gits_own(repo):
    commit(repo)
    assert plumbing.refs(repo, "refs/publish/")["refs/publish/x"][1] == plumbing.tree_id(TREE)


def test_a_transaction_moves_all_refs_or_none(repo):
    sha = commit(repo)
    plumbing.transaction(repo, [RefUpdate("refs/heads/a", sha, ZERO), RefUpdate("refs/publish/x", ZERO, sha)])
    assert list(plumbing.refs(repo)) == ["refs/heads/a"]
    with pytest.raises(RefsMoved, match="is at"):
        plumbing.transaction(repo, [RefUpdate("refs/heads/b", sha, ZERO), RefUpdate("refs/heads/a", sha, "1" * 40)])
    assert list(plumbing.refs(repo)) == ["refs/heads/a"]


def test_a_broken_stream_moves_nothing_and_leaves_no_file(repo):
    before = sorted(path.name for path in plumbing.common_dir(repo).iterdir())
    with pytest.raises(gitpython.GitCommandError):
        plumbing.fast_import(repo, b"feature done\ncommit refs/heads/x\n")
    assert sorted(path.name for path in plumbing.common_dir(repo).iterdir()) == before
    assert plumbing.refs(repo) == {}


def test_stale_locks_go_and_living_ones_stay(repo, monkeypatch):
    monkeypatch.setattr(plumbing, "PATIENCE_S", 0.2)
    sha = commit(repo, "refs/heads/a")
    stale = plumbing.common_dir(repo) / "refs" / "heads" / "a.lock"
    stale.touch()
    with plumbing.exclusive(repo):
        assert not stale.exists()
    plumbing.transaction(repo, [RefUpdate("refs/heads/a", ZERO, sha)])

    living = plumbing.common_dir(repo) / "packed-refs.lock"
    living.touch()

    def taken_again(seconds):
        living.with_suffix(".new").touch()
        living.with_suffix(".new").replace(living)

    monkeypatch.setattr(plumbing.time, "sleep", taken_again)
    plumbing.remove_stale_locks(plumbing.common_dir(repo))
    assert living.exists()


def test_notes_keep_their_fanout(repo):
    parent, notes = None, {}
    stream = Stream("A <a@example.org>")
    for number in range(300):
        stream.commit("refs/heads/many", f"{number}\n", number, {"n": b"%d" % number})
    plumbing.fast_import(repo, stream.finish())
    commits = repo.git.rev_list("refs/heads/many").splitlines()
    for sha in [*commits[:3], *commits[:1]]:
        stream = Stream("A <a@example.org>")
        stream.note("refs/notes/x", "note\n", 1, sha, notes.setdefault(sha, b"") + b"again", parent)
        plumbing.fast_import(repo, stream.finish())
        parent = plumbing.refs(repo, "refs/notes/x")["refs/notes/x"][0]
    assert repo.git.notes("--ref", "x", "show", commits[0]) == "again"
    assert len(repo.git.notes("--ref", "x", "list").splitlines()) == 3
    assert repo.git.fsck("--strict") == ""
