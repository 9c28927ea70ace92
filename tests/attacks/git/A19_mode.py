"""The editable file is executable, or has the mode 100664 that old programs wrote."""

from ground import OPS

EXPECTED = "PASS"
DEFENDS = "control: harmless"


def commits(ground):
    yield ground.commit({OPS: ("100755", ground.right)})
