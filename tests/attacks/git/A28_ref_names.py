"""Refs that are no lab: paths that climb, capitals, deeper names, very long ones, branches and notes of the hub."""

EXPECTED = "rejected"
DEFENDS = "the lab must be in the catalogue before any path is built"
SAYS = "no such lab|answers are pushed to|hidden ref|invalid refspec|not.* valid ref"
REFS = [
    "refs/for/lab/l01/x", "refs/for/lab/L01", "refs/for/lab/" + "l" * 200,
    "refs/for/lab/l1", "refs/for/l01", "refs/for/lab/l01%00", "refs/heads/main", "refs/heads/lab/l01",
    "refs/notes/labs", "refs/attempts/l01/eve/1", "refs/publish/notes", "refs/replace/" + "1" * 40,
    "refs/tags/ref/l01/v1",
]  # fmt: skip


def pushes(ground):
    sha = ground.answer()
    yield ground.push(f"{sha}:refs/for/lab/../../heads/main")
    said = ground.push(*(f"+{sha}:{ref}" for ref in REFS), ":refs/heads/lab/l02")
    assert said.count("[remote rejected]") == len(REFS) + 1
    yield said
    assert ground.refs() == []
