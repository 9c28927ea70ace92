"""Names that would climb out of refs/attempts: by the push option and by the committer's address."""

EXPECTED = "PASS"
DEFENDS = "a name is made fit for a ref before it becomes one"
NAMES = ["../../heads/main", "x.lock", "\x1b[2J@{0}", "é" * 300, "-d"]


def pushes(ground):
    for number, name in enumerate(NAMES):
        sha = ground.answer("PASS", f"# {number}\n")
        yield ground.push(f"{sha}:refs/for/lab/l01", options=(f"user={name}",))
    refs = [ref for ref in ground.refs() if ref != "refs/notes/labs"]
    assert all(ref.startswith("refs/attempts/l01/") and ref.count("/") == 4 for ref in refs)
    assert len(refs) == len(NAMES)
