"""A learner's source text and file names, and patches with their `# file:` sections."""

import contextlib

import pytest
from hostile import FUZZ, NASTY, WORDS
from hypothesis import given
from hypothesis import strategies as st
from synthetic import OPS, write_course

from grading.course import paths, plumbing, submission, trees, vetting
from grading.course.catalog import Course
from grading.course.marked import CourseError
from grading.course.submission import Refused
from grading.sandbox.lint import lint

PATH = "mini_infra/tiny/ops.py"
PIECES = [
    "def double(x):\n",
    "class A:\n",
    "    return x\n",
    "import os\n",
    "\t",
    "(",
    ")",
    "'''",
    '"',
    "\\\n",
    "#",
    "\r",
]
PIECES += [
    "# file: mini_infra/tiny/ops.py\n",
    "# file: a b\n",
    "lambda: ",
    "async ",
    "await x\n",
    "match x:\n",
    "𝐝",
    "\f",
]
PIECES += [
    "\0",
    "\ufeff",
    "\u202e",
    "f'{x!r:{y}}'",
    "# coding: latin-1\n",
    "@property\n",
    "x: int = 1\n",
    "*",
    "=",
    "(" * 250,
]
texts = st.lists(st.sampled_from(PIECES) | WORDS, max_size=10).map("".join)
places = st.integers(0, len(OPS))
sources = texts | st.builds(lambda a, b, new: OPS[: min(a, b)] + new + OPS[max(a, b) :], places, places, texts)
blobs = sources.map(lambda text: text.encode(errors="surrogatepass")) | st.binary(max_size=80)


@pytest.fixture(scope="module")
def course(tmp_path_factory):
    return Course.load(write_course(tmp_path_factory.mktemp("course")))


@FUZZ
@given(blobs)
def test_any_source_is_refused_or_read_by_all_who_follow(course, blob):
    """What passes the vetting can be linted and compared; the parser's own process is left out (it costs 30 ms)."""
    lab, starter = course.lab("l01"), trees.starter_tree(course, course.lab("l01"))
    refusal = vetting._text_refusal(PATH, blob)
    if refusal is not None:
        assert refusal.reason.isprintable()
        return
    vetting.warn(PATH, blob.decode())
    found = lint(PATH, blob.decode("utf-8-sig"), starter[PATH].decode(), lab, [PATH])
    assert all(one.path == PATH and (one.line is None or one.line >= 1) for one in found)
    assert submission.holes_filled(lab, {PATH: blob}, starter) in (True, False)


@pytest.fixture(scope="module")
def many():
    return [b"x = " + b"(" * depth + b")" * depth for depth in (1, 90, 150, 250)] + [b"-" * 60_000 + b"1", b"x" * 9]


def test_the_parsers_process_survives_all_of_them(many):
    refused = {one.path for one in vetting.vet({str(n): blob for n, blob in enumerate(many)})}
    assert refused == {"3", "4"}


@FUZZ
@given(sources.map(lambda text: text.encode(errors="replace").decode()))
def test_a_patch_is_a_tree_or_a_course_error(course, text):
    with contextlib.suppress(CourseError):
        tree = trees.patched_tree(course, course.lab("l01"), text)
        assert all(type(blob) is bytes for blob in tree.values())


names = st.binary(max_size=40).filter(lambda name: b"\0" not in name and name)


@FUZZ
@given(names, st.sampled_from([b"100644 blob", b"120000 blob", b"160000 commit", b"040000 tree"]))
def test_any_file_name_is_listed_as_one_printable_line(name, kind):
    size = b"-" if kind.endswith((b"commit", b"tree")) else b"12"
    entry = plumbing._entry(kind + b" " + b"a" * 40 + b" " + size.rjust(7) + b"\t" + name)
    assert entry.path.encode(errors="surrogateescape") == name
    assert paths.shown(entry.path).isprintable()
    for clash in paths.clashes([PATH], [entry.path]):
        assert clash.reason.isprintable()


@pytest.mark.parametrize("name", [*NASTY, "HEAD", "-h", "--all", "x^{tree}", ":/x", "@{-1}", "0" * 40])
def test_any_name_of_a_commit_is_a_refusal(course, name):
    folder = course.root / "repository"
    if not folder.exists():
        plumbing.Repository(course.root).git("init", "-q", "--bare", str(folder))
    lab = course.lab("l01")
    with pytest.raises(Refused):
        submission.from_commit(folder, name, lab, {})
