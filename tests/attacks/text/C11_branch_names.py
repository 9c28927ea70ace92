"""Branches, push options and refs whose names are shell: whoever pastes one into a command runs it."""

EXPECTED = "inert"
DEFENDS = "names travel as arguments, never through a shell"
NAMES = ['a";touch${IFS}pwned;#', "$(touch${IFS}pwned)", "`touch${IFS}pwned`", "a|sh", "${{github.token}}", "'x'&"]


def streams(ground):
    sha = ground.answer()
    assert ground.hub
    for name in NAMES:
        ground.git("update-ref", f"refs/heads/{name}", sha)
        yield ground.push(f"refs/heads/{name}:refs/for/lab/{name}", options=(f"user={name}",))
    yield ground.push(f"refs/heads/{NAMES[0]}:refs/for/lab/l01", options=(f"user={NAMES[1]}", f"x={NAMES[2]}"))
    assert not list(ground.folder.rglob("pwned"))
    assert [one.user for one in ground.records()] == ["touch-ifs-pwned"]
