"""References by tag: what `labs release` writes, and what it will not."""

import git as gitpython
import pytest

from grading.course.catalog import Course
from grading.delivery import plumbing, release
from grading.delivery.publish import publish
from grading.delivery.remote import PublishError
from grading.sandbox import jail

pytestmark = pytest.mark.skipif(not jail.status().ok, reason="no jail on this machine: no reference counts")


@pytest.fixture
def bare(tiny, tmp_path):
    repo = gitpython.Repo.init(tmp_path / "bare", bare=True)
    publish(tiny, tiny.labs, tmp_path / "bare", engine="https://example.org/engine.zip")
    return repo


def released(course, to, **more) -> release.Released:
    (one,) = release.release(course, [course.lab("l01")], to, course.root, **more)
    return one


def test_a_tag_is_the_branch_with_the_holes_filled(tiny, bare):
    """At a remote: what is there stays, one tag is new. Again: nothing. Another reference: the next tag."""
    before = plumbing.refs(bare)
    gitpython.Repo.init(tiny.root).create_remote("hub", "../bare")  # from the work tree, as git takes it
    first = released(tiny, "hub", notes="Doubling, once more.")
    assert (first.lab, first.tag, first.changed) == ("l01", "ref/l01/v1", True)
    assert bare.git.cat_file("-t", first.tag) == "tag"
    assert bare.git.rev_parse("ref/l01/v1~1") == bare.git.rev_parse("lab/l01") == first.parent
    assert bare.git.diff("--numstat", "lab/l01", first.tag) == "4\t1\tmini_infra/tiny/ops.py"
    message = bare.git.tag("-l", "--format=%(contents)", first.tag)
    assert message.startswith("l01: To double, the reference\n\nDoubling, once more.\n\nGraded PASS: 3 hidden tests")
    assert {name: value for name, value in plumbing.refs(bare).items() if name != "refs/tags/ref/l01/v1"} == before

    assert released(tiny, "hub") == release.Released("l01", first.tag, first.commit, first.parent, changed=False)

    ops = tiny.root / "mini_infra/tiny/ops.py"
    ops.write_text(
        ops.read_text().replace("    total = x.clone()\n    total += x\n    return total", "    return x + x")
    )
    second = released(Course.load(tiny.root), bare.git_dir)
    assert (second.tag, second.parent, second.changed) == ("ref/l01/v2", first.parent, True)
    assert bare.git.rev_parse("ref/l01/v1^{commit}") == first.commit
    assert bare.git.fsck("--strict") == ""
    assert plumbing.refs(bare, "refs/publish") == {}


def test_a_reference_that_fails_is_not_released(tiny, bare):
    ops = tiny.root / "mini_infra/tiny/ops.py"
    ops.write_text(ops.read_text().replace("total += x\n", "total += x + 1\n"))
    with pytest.raises(PublishError, match=r"^the reference of l01 is FAIL \(test_hidden\.py::test_double, .*not rel"):
        released(Course.load(tiny.root), bare.git_dir)
    assert plumbing.refs(bare, "refs/tags") == {}


def test_only_on_the_branch_of_this_very_course(tiny, bare, tmp_path):
    (tiny.lab("l01").folder / "task.md").write_text("# Told otherwise\n")  # README.md depends on the engine as well
    (tiny.lab("l01").folder / "probes.py").write_text((tiny.lab("l01").folder / "probes.py").read_text() + "# more\n")
    with pytest.raises(PublishError, match=r"lab/l01 has another probes\.py than this course: run `labs publish l01`"):
        released(Course.load(tiny.root), bare.git_dir)
    gitpython.Repo.init(tmp_path / "empty", bare=True)
    with pytest.raises(PublishError, match="lab/l01 is not published there"):
        released(tiny, str(tmp_path / "empty"))
