"""A right answer that a later commit takes back."""

from ground import OPS

EXPECTED = "FAIL"
DEFENDS = "one sha, one verdict: the last commit's"
SAYS = "The holes are not filled yet"


def commits(ground):
    yield ground.commit({}, parents=[ground.commit({OPS: ground.right})])
    yield ground.commit({}, parents=[ground.ada.tip])  # an empty change
