"""The editable file is renamed and its old name left out, or left as a folder."""

from ground import OPS

EXPECTED = "REFUSED"
DEFENDS = "paths are exact; the sentence names the likely new path"
SAYS = "it looks as if it became mini_infra/tiny/ops2.py|this is a folder"


def commits(ground):
    yield ground.commit({"mini_infra/tiny/ops2.py": ground.right}, without=[OPS])
    yield ground.commit({OPS + "/__init__.py": ground.right}, without=[OPS])
