"""Packages beside the editable file that would be imported instead of torch, json and the course's own."""

from ground import OPS

EXPECTED = "PASS"
DEFENDS = "never copied; no folder of the learner's is on sys.path"
ADDED = ["json.py", "mini_infra/tiny/torch.py", "mini_infra/torch/__init__.py", "safetensors/__init__.py", "torch.py"]


def commits(ground):
    shadow = b"raise SystemExit('shadowed')\n"
    yield ground.commit(dict.fromkeys([*ADDED, "mini_infra/tiny/__init__.py"], shadow) | {OPS: ground.right})


def check(ground, report):
    assert report.not_graded == sorted([*ADDED, "mini_infra/tiny/__init__.py"])
