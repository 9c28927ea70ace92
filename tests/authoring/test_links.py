"""Links to upstream's lines, held against the release that is pinned."""

import pytest

from grading.authoring.links import wrong_links

BLOB = "https://example.org/tiny/blob"
OPS = "tiny/ops.py"
GOOD = f"{BLOB}/v1/{OPS}#L4-L9"


@pytest.mark.parametrize(
    ("text", "says"),
    [
        (f"[double]({GOOD}) and [`double`]({GOOD}), [the file]({BLOB}/v1/{OPS}), [line 1]({BLOB}/v1/tiny/x.py#L1)", []),
        ("[elsewhere](https://example.org/other/blob/v9/a.py#L7)", []),
        (f"see [double]({BLOB}/v1/{OPS}#L5-L9)", [f"task.md:3: double stands at {GOOD}"]),
        (f"[double]({BLOB}/v1/{OPS})", [f"task.md:3: double stands at {GOOD}"]),
        (
            f"[double]({BLOB}/v2/{OPS}#L4-L9)",
            [f"task.md:3: double links to another version than v1, which is pinned: {BLOB}/v1/…"],
        ),
        (f"[double]({BLOB}/v1/tiny/y.py#L4-L9)", ["task.md:3: y.py: tiny-core 1 has no file tiny/y.py"]),
        (f"[a part of it]({BLOB}/v1/tiny/x.py#L1-L2)", ["task.md:3: tiny/x.py has 1 lines, and no lines 1 to 2"]),
    ],
)  # fmt: skip
def test_links_of_a_task(pinned, text, says):
    lab = pinned.lab("l01")
    (lab.folder / "task.md").write_text(f"# To double\n\n{text}\n")
    assert wrong_links(pinned, lab) == says


def test_a_name_that_upstream_has_not(pinned):
    lab = pinned.lab("l01")
    (lab.folder / "task.md").write_text(f"[triple]({BLOB}/v1/{OPS}#L4-L9)")
    (said,) = wrong_links(pinned, lab)
    assert said.startswith("task.md:1: ops.py: no definition 'triple'")


@pytest.mark.parametrize(
    ("snapshot", "lines", "says"),
    [
        ("tiny-core", [6, 9], None),
        ("tiny-core", [6, 10], "double stands in lines 4 to 9 of tiny/ops.py, and lines 6 to 10 are not in it"),
        ("tiny", [6, 9], "no snapshot tiny is pinned"),
    ],
)
def test_lines_of_an_exam(pinned, snapshot, lines, says):
    lab = pinned.lab("l01")
    exam = (lab.folder / "exam.yaml").read_text() if (lab.folder / "exam.yaml").is_file() else ""
    source = f"{{snapshot: {snapshot}, path: {OPS}, lines: {lines}, symbol: double}}"
    (lab.folder / "exam.yaml").write_text(
        f"{exam}- {{id: here, layer: patch_contract, question: why, source: {source}}}\n"
    )
    assert wrong_links(pinned, lab) == ([f"exam.yaml, here: {says}"] if says else [])


def test_what_is_not_fetched_is_taken_as_it_is(pinned, tmp_path, monkeypatch):
    monkeypatch.setenv("MAINLINE_CACHE", str(tmp_path / "empty"))
    lab = pinned.lab("l01")
    (lab.folder / "task.md").write_text(f"[double]({BLOB}/v1/{OPS}#L1)")
    assert wrong_links(pinned, lab) == []
