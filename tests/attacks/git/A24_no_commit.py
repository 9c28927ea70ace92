"""The head is a blob, a tree, nothing, an option, or a tag of a tree."""

from ground import OPS

EXPECTED = "REFUSED"
DEFENDS = "peel to a commit, else refuse"
SAYS = "is no commit of this repository; push a commit"


def commits(ground):
    commit = ground.commit({OPS: ground.right})
    tree = ground.ada.git("rev-parse", f"{commit}^{{tree}}").strip()
    tag = ground.ada.put("tag", f"object {tree}\ntype tree\ntag t\ntagger a <a@b> 0 +0000\n\nt\n".encode())
    yield from (ground.ada.put("blob", b"x"), tree, tag, "0" * 40, "--help", "@{-1}", "a..b", ":/", "HEAD")
