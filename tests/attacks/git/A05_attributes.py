"""Attributes and filters that would show the grader another file than the one committed."""

from ground import OPS

EXPECTED = "PASS"
DEFENDS = "plumbing runs no filter and reads no attributes of the learner's"


def commits(ground):
    for name in ("smudge", "process", "clean"):
        ground.ada.git("config", f"filter.x.{name}", "sh -c 'touch pwned; echo raise SystemExit'")
    attributes = b"*.py filter=x working-tree-encoding=UTF-16 ident export-subst eol=crlf\n"
    yield ground.commit({OPS: ground.right, ".gitattributes": attributes, ".lfsconfig": b"[lfs]\nurl = ext::sh\n"})
    assert not list(ground.folder.rglob("pwned"))


def check(ground, report):
    assert report.not_graded == [".gitattributes", ".lfsconfig"]
