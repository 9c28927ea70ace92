"""Two names in one tree that are one on other people's disks: Ops.py beside ops.py, TINY beside tiny."""

from ground import OPS

EXPECTED = "REFUSED"
DEFENDS = "a name that folds to an editable path is ambiguous"
SAYS = "on many disks they are one name; rename or delete one"


def commits(ground):
    for other in ("mini_infra/tiny/Ops.py", "mini_infra/TINY/x.py", "Mini_infra/tiny/ops.py", "MINI_INFRA"):
        yield ground.commit({OPS: ground.right, other: b"x = 1\n"})
