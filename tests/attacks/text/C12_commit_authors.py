"""Names, addresses and messages of a commit that are shell, YAML, Markdown, escapes or a terminal's controls."""

from ground import OPS

EXPECTED = "inert"
DEFENDS = "P13: of a commit only the committer's address is looked at, and made fit for a ref"
PEOPLE = [
    b'$(touch pwned)";#\x1b[2J <$(touch${IFS}pwned)\x1b[2J@x.example>',
    b"- !!python/object: {x: *y} <`id`;|&@x.example>",
    "\u202e@team\u2066 <\u202e\u00e9@x.example>".encode(),
    b"\xff\xfe <\xff@x.example>",
]


def streams(ground):
    for number, who in enumerate(PEOPLE):
        answer = ground.right + b"# verdict: PASS\n# %d\n" % number
        tree = ground.ada.tree(ground.starter | {OPS: answer}).encode()
        lines = b"tree %s\nparent %s\nauthor %s 0 +0000\ncommitter %s 0 +0000\n\n::error::\x1b[2J @team\n"
        sha = ground.ada.put("commit", lines % (tree, ground.ada.tip.encode(), who, who))
        assert ground.hub
        yield ground.push_commit(sha)
    assert not list(ground.folder.rglob("pwned"))
    assert len(ground.records()) == len(PEOPLE)
    assert all(one.user.isascii() for one in ground.records())
