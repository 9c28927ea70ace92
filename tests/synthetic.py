"""A course of two tiny labs, whole enough to be published, graded and checked in seconds."""

from pathlib import Path

OPS = '''\
"""Arithmetic that the labs are about."""


def double(x):
    """Twice x."""
    # Doubling is adding once.
    total = x.clone()
    total += x
    return total


def quadruple(x):
    """Four times x, by doubling twice."""
    once = double(x)
    twice = double(once)
    return twice


def negated(x):
    """Minus x; given."""
    return -x
'''
COURSE = """\
title: Tiny
chapters: [{id: 1, title: Sums, sentence: Numbers grow.}]
order: [l01, l02]
"""
LAB = """\
id: {id}
slug: {name}
title: To {name}
chapter: 1
stars: 1
hours: 1
holes: [mini_infra/tiny/ops.py::{name}]
"""
TASK = """\
# To {name}

## Contract

1. The right multiple comes back.
2. Zero stays zero.
"""
PROBES = """\
from mini_infra.tiny import ops


def {name}(x):
    return ops.{name}(x)


def negated(x):
    return ops.negated(x)
"""
TEST = '''\
import torch

from grading import lab


@lab.contract(1, topic="sum")
def test_{name}(lab):
    """The result is the right multiple of x."""
    x = torch.randn(5, generator=lab.generator, dtype=torch.float64)
    lab.close(lab.run("{name}", x=x)[0], {factor} * x)
'''
HIDDEN = '''

@lab.contract(2, topic="zero")
def test_zero(lab):
    """Zero stays zero."""
    lab.close(lab.run("{name}", x=torch.zeros(3))[0], torch.zeros(3))


@lab.guard
def test_negated(lab):
    """negated still negates."""
    lab.close(lab.run("negated", x=torch.ones(2))[0], -torch.ones(2))
'''
EXAM = """\
- {id: a, layer: patch_contract, question: "Why twice?", look_for: [SECRET one]}
- {id: b, layer: mini_infra_alignment, question: "What is left out?", look_for: [SECRET two]}
- {id: c, layer: real_source_path, question: "Where upstream?", look_for: [SECRET three]}
- {id: d, layer: system_interaction, question: "Who calls it?", look_for: [SECRET four]}
- {id: e, layer: debug_transfer, question: "What breaks first?", look_for: [SECRET five]}
"""
HINTS = 'sum: ["Once more.", "Add x to x.", "x + x."]\nzero: ["Zero?", "Nothing added.", "No constant."]\n'
MISTAKE = '"""You added x once too often."""\n\n\ndef {name}(x):\n    return x * 7\n'
OFFSET = (
    '"""You added a constant."""\n\n\ndef {name}(x):\n    return x * {factor} + 1\n\n\ndef negated(x):\n    return x\n'
)
PROJECT = '[project]\nname = "tiny"\nversion = "0.1"\nrequires-python = ">=3.11"\ndependencies = ["torch"]\n'


def write_course(root: Path, uses: bool = True) -> Path:
    """The course in the folder `root`; with `uses`, l02's branch shows l01's answer."""
    files = {
        "pyproject.toml": PROJECT,
        "challenges/course.yaml": COURSE,
        "mini_infra/__init__.py": "",
        "mini_infra/tiny/__init__.py": "",
        "mini_infra/tiny/ops.py": OPS,
    }
    for lab_id, name, factor in [("l01", "double", 2), ("l02", "quadruple", 4)]:
        lab = LAB.format(id=lab_id, name=name) + ("uses: [l01]\n" if uses and lab_id == "l02" else "")
        tests = TEST.format(name=name, factor=factor)
        own = {
            "lab.yaml": lab,
            "task.md": TASK.format(name=name),
            "probes.py": PROBES.format(name=name),
            "tests/test_public.py": tests,
            "hidden/test_hidden.py": tests + HIDDEN.format(name=name),
            "hints.yaml": HINTS,
            "exam.yaml": EXAM,
            "mistakes/seven.py": MISTAKE.format(name=name),
            "mistakes/offset.py": OFFSET.format(name=name, factor=factor),
        }
        files |= {f"challenges/{lab_id}_{name}/{path}": text for path, text in own.items()}
    for path, text in files.items():
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_text(text)
    return root
