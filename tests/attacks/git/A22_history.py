"""Merge, octopus, a root unrelated to the branch, a root that has the branch's tip as its second parent."""

from ground import OPS

EXPECTED = "PASS"
DEFENDS = "only the head's tree counts"


def commits(ground):
    orphan = ground.commit({OPS: ground.right}, parents=[])
    yield orphan
    yield ground.commit({OPS: ground.right}, parents=[ground.ada.tip, orphan])
    yield ground.commit({OPS: ground.right}, parents=[orphan, ground.ada.tip, ground.commit({})])
