"""A folder above the editable file is a symbolic link to a folder that has a right answer."""

EXPECTED = "REFUSED"
DEFENDS = "the path is walked tree by tree; what is no tree on the way is an error"
SAYS = "the folder mini_infra(/tiny)? is a symbolic link"


def commits(ground):
    for folder in ("mini_infra/tiny", "mini_infra"):
        answer = {"elsewhere/tiny/ops.py": ground.right, "elsewhere/ops.py": ground.right}
        yield ground.commit({folder: ("120000", b"elsewhere"), **answer}, without=[folder])
