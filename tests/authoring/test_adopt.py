"""A learner's patch on its way into main: what is carried, and what stops it."""

import pytest

from grading.authoring import gate
from grading.authoring.adopt import AdoptError, adopt
from grading.course.catalog import Course
from grading.delivery.clone import open_clone
from grading.delivery.publish import publish
from grading.sandbox import jail

pytestmark = pytest.mark.skipif(not jail.status().ok, reason="no jail on this machine: nothing passes")
OPS = "mini_infra/tiny/ops.py"
HOLE = '    raise NotImplementedError("l01: write double")\n'


@pytest.fixture
def gated(monkeypatch) -> dict[str, list[str]]:
    """What the gate has against each lab that it is asked about; tests/authoring/test_gate.py is about the gate."""
    against: dict[str, list[str]] = {}

    def check(course, lab, judges, *, write, mutants, say):
        assert "_sum" in (course.root / OPS).read_text()
        return gate.Checked(lab.id, misses=against.setdefault(lab.id, []))

    monkeypatch.setattr(gate, "check", check)
    return against


@pytest.fixture
def course(tiny, git) -> Course:
    """The tiny course as a clone of itself, with its branches published."""
    git(tiny.root, "init", "-q", "-b", "main")
    git(tiny.root, "add", "-A")
    git(tiny.root, "commit", "-q", "-m", "the course")
    publish(tiny, tiny.labs, tiny.root)
    return tiny


@pytest.fixture
def learner(course, git, tmp_path, monkeypatch):
    """learner(edit) -> the SHA of lovelace's commit, which edits the starter of l01."""
    git(course.root, "worktree", "add", "-q", "-b", "mine", tmp_path / "mine", "lab/l01")

    def commit(edit) -> str:
        path = tmp_path / "mine" / OPS
        path.write_text(edit(path.read_text()))
        git(tmp_path / "mine", "commit", "-qa", "-m", "twice", "--author", "Lovelace <l@example.org>")
        return git(tmp_path / "mine", "rev-parse", "HEAD").strip()

    return commit


def carried(course, name):
    return adopt(open_clone(course.root), course, name, at_once=1, say=print)


def better(source: str) -> str:
    helper = "\n\ndef _sum(x, y):\n    return torch.add(x, y)\n"
    text = source.replace(HOLE, "    return _sum(x, x)\n").replace('about."""\n', 'about."""\n\nimport torch\n')
    return text + helper


def test_a_patch_that_passes_becomes_a_commit_of_main_with_its_author(course, learner, git, gated):
    sha = learner(lambda source: better(source).replace("\n", "\r\n"))  # an editor's line ends are not carried
    before = git(course.root, "rev-parse", "HEAD")
    gated["l02"] = ["something does not hold"]
    with pytest.raises(AdoptError, match="the author gate does not pass with it: l02: something does not hold"):
        carried(course, sha)
    assert git(course.root, "rev-parse", "HEAD") == before

    gated["l02"].clear()
    done = carried(course, sha)
    source = (course.root / OPS).read_bytes().decode()
    assert "\r" not in source
    assert "import torch\n" in source
    assert "return _sum(x, x)" in source
    assert "twice = double(once)" in source  # another lab's reference, a stub on the branch
    assert (done.lab, done.paths, done.authors) == ("l01", [OPS], ["Lovelace <l@example.org>"])
    assert git(course.root, "log", "-1", "--format=%s%n%(trailers)").split("\n")[:2] == [
        f"Adopt l01 from {sha[:10]}",
        "Co-authored-by: Lovelace <l@example.org>",
    ]
    assert git(course.root, "rev-parse", "HEAD").strip() == done.commit
    assert git(course.root, "status", "--porcelain") == ""
    assert len(git(course.root, "worktree", "list").splitlines()) == 2  # main's and the learner's
    assert set(gated) == {"l01", "l02"}
    assert carried(Course.load(course.root), sha).commit is None


@pytest.mark.parametrize(
    ("edit", "says"),
    [
        (lambda s: s.replace(HOLE, "    return 3 * x\n"), r"is FAIL for l01, seed \d+: test_hidden"),
        (lambda s: s.replace(HOLE, "    return FACTOR * x\n") + "\n\nFACTOR = 2\n", r"by hand: .*ops\.py: line \d+"),
        (
            lambda s: s.replace(HOLE, "    return 2 * x\n").replace("l02: write", "l02: do write"),
            "quadruple is another lab's",
        ),
    ],
    ids=["fails", "more-than-a-patch", "another-lab"],
)
def test_what_cannot_be_adopted_is_listed_and_nothing_moves(course, learner, git, edit, says):
    before = git(course.root, "rev-parse", "HEAD")
    sha = learner(edit)
    with pytest.raises(AdoptError, match=says):
        carried(course, sha)
    assert git(course.root, "rev-parse", "HEAD") == before
    assert git(course.root, "status", "--porcelain") == ""


def test_what_is_no_commit_of_a_lab(course, git):
    with pytest.raises(AdoptError, match="nonsense is no commit of a lab's branch here"):
        carried(course, "nonsense")
    with pytest.raises(AdoptError, match="main is no commit of a lab's branch here"):
        carried(course, "main")
