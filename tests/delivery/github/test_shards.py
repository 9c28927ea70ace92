"""The results of shards become one table again; what a shard lost is named, never passed over."""

import json
import sys

import pytest
from github_examples import report

from grading.cli.main import main
from grading.delivery.github import shards

GATE = {"tests": 3, "mistakes": 2, "seconds": 7.2, "misses": [], "good": True}
GATE |= {"mutation": {"tried": 40, "score": 0.975, "survivors": ["-a\n+b"]}}
TABLES = """\

### 1 of 2 gradings pass

|  | lab | verdict | tests | s | why |
| --- | --- | --- | --- | --- | --- |
| ✅ | l01 | PASS | 3/3 | 1.0 |  |
| ❌ | l02 | FAIL | 1/3 | 1.0 | a \\| b |

### 1 of 2 labs pass the author gate

|  | lab | tests | mistakes | mutants killed | s | what lacks |
| --- | --- | --- | --- | --- | --- | --- |
| ✅ | l01 | 3 | 2 | 97.5% of 40 | 7 |  |
| ❌ | l02 | 3 | 2 | – | 7 | one; two \\| three |"""


def rows(*reports) -> str:
    return json.dumps([one.model_dump(mode="json") for one in reports])


@pytest.fixture
def results(tmp_path):
    """Two shards as upload-artifact leaves them, the second lab's first."""
    folder = tmp_path / "results"
    second = GATE | {"lab": "l02", "good": False, "misses": ["one", "two | three"], "mutation": None}
    for name, graded, gate in [
        ("shard-1", report("FAIL", lab="l02", reason="a | b"), second),
        ("shard-2", report("PASS"), GATE | {"lab": "l01"}),
    ]:
        (folder / name).mkdir(parents=True)
        (folder / name / "grade.json").write_text(rows(graded))
        (folder / name / "check.json").write_text(json.dumps([gate]))
    return folder


def test_one_table_in_the_courses_order(tiny, results):
    merged = shards.merge(tiny, [results])
    assert merged.markdown() == TABLES
    assert merged.exit_code == 1


def test_what_a_shard_lost_is_said_and_is_infra(tiny, results):
    (results / "shard-2/grade.json").write_text("")
    (results / "shard-2/check.json").unlink()
    merged = shards.merge(tiny, [results])
    assert merged.lost == [
        f"{results}/shard-2/grade.json is no result of `labs grade --all --json` or `labs check --json`",
        "l01: no results of `labs check`",
        "l01: no results of `labs grade --seal patch`",
    ]
    assert merged.exit_code == 3


def test_a_lab_of_two_shards_and_a_seal_of_its_own(tiny, tmp_path):
    file = tmp_path / "all.json"
    file.write_text(rows(report("PASS"), report("PASS"), report("PASS", lab="l02")))
    assert shards.merge(tiny, [file]).lost == ["l01: 2 results of `labs grade --seal patch`"]
    file.write_text(rows(report("PASS", seal="mainline")))
    merged = shards.merge(tiny, [file])  # no lab of this course has that seal: none lacks
    assert (merged.lost, merged.exit_code) == ([], 0)
    assert "| ✅ | l01 mainline | PASS | 3/3 | 1.0 |  |" in merged.markdown()


@pytest.mark.parametrize("content", ["{}", "[3]", '[{"verdict": "PASS"}]', "[" * 5000, "\udc80"])
def test_a_file_that_holds_something_else(tiny, tmp_path, content):
    (tmp_path / "x.json").write_text(content, errors="surrogateescape")
    merged = shards.merge(tiny, [tmp_path / "x.json"])
    assert merged.exit_code == 3
    assert merged.lost[-1] == "no shard has left a result"


def test_graded_by_shards_and_merged(tiny, tmp_path, monkeypatch, capsys):
    summary = tmp_path / "summary.md"
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", str(summary))

    def labs(*arguments) -> int:
        monkeypatch.setattr(sys, "argv", ["labs", *map(str, arguments), "--course", str(tiny.root)])
        with pytest.raises(SystemExit) as ended:
            main()
        return ended.value.code

    shard = ["grade", "--all", "--impl", "reference", "--no-jail", "--seed", "1", "--shard"]
    assert labs(*shard, "2/2", "--json", tmp_path / "two.json") == 0
    assert [one["lab"] for one in json.loads((tmp_path / "two.json").read_text())] == ["l02"]
    assert labs(*shard, "3/3", "--json", tmp_path / "none.json") == 0  # more shards than labs
    assert labs(*shard, "3/2") == 4
    (tmp_path / "one.json").write_text(rows(report("PASS")))
    capsys.readouterr()
    assert labs("github", "merge", tmp_path / "one.json", tmp_path / "two.json", "--json") == 0
    assert [one["lab"] for one in json.loads(capsys.readouterr().out)["reports"]] == ["l01", "l02"]
    assert "### 2 of 2 gradings pass" in summary.read_text()
