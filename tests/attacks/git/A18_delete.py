"""The editable file is deleted, the whole tree is deleted."""

from ground import OPS

EXPECTED = "REFUSED"
DEFENDS = "a missing answer is no answer"
SAYS = "the file is missing"


def commits(ground):
    yield ground.commit({}, without=[OPS])
    yield ground.ada.commit({})
