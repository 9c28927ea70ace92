"""Two labs in one push, a delete beside them, and the same commit again."""

EXPECTED = "PASS"
DEFENDS = "each command of a push is answered for itself"


def pushes(ground):
    sha = ground.answer()
    labs = [f"{sha}:refs/for/lab/{lab}" for lab in ("l01", "l02", "l77")]
    first = ground.push(*labs)
    assert "(no such lab: l77)" in first
    assert "refs/attempts/l02/ada/1" in first
    yield "0 " + first.partition(" ")[2]  # one of three refused: git's status is 1
    assert "[remote rejected]" in ground.push(":refs/for/lab/l01")
    again = ground.push_commit(sha)
    assert "this push counts no attempt" in again
    yield again
    assert [ref for ref in ground.refs() if "/l01/" in ref] == ["refs/attempts/l01/ada/1"]
