"""A small course on disk: two labs, one with everything that feedback reads."""

import pytest
from feedback_examples import LOCK, write

from grading.course.catalog import Course, Lab
from grading.course.models import Chapter

HINTS = """\
adjoint:
  - Transpose it.
  - Copy is [I I] transposed.
  - "Pairs: copy/reduce."
sp: [What does a rank own?, Gathered again., "Start the gather, then dgrad."]
"""
EXAM = """\
- {id: a1, layer: patch_contract, question: "Why no forward collective?", look_for: [SECRET replicated input]}
- {id: a2, layer: patch_contract, question: "Why is the bias not sharded?", look_for: [SECRET added after the sum]}
- {id: b1, layer: mini_infra_alignment, question: "Bytes of TP and SP?", look_for: [SECRET equal]}
- id: c1
  layer: real_source_path
  question: When is the copy skipped?
  look_for: [SECRET folded into the linear]
  source: {snapshot: megatron-core, path: megatron/core/tensor_parallel/layers.py, lines: [1139, 1147]}
- id: d1
  layer: system_interaction
  question: Where does it run?
  look_for: [SECRET after DP]
  source: {snapshot: unpinned, path: a.py, lines: [3, 3]}
- {id: e1, layer: debug_transfer, question: "What do you look at?", look_for: [SECRET a factor]}
"""
MISTAKE = '"""Each rank has its own share of dX."""\nraise SystemExit\n'


def make_lab(root, name: str, **more) -> Lab:
    given = {"id": name, "slug": "x", "title": "A lab", "chapter": 1, "stars": 2, "hours": 3}
    given |= {"holes": ["mini_infra/a.py::f"]}
    lab = Lab(**{**given, **more})
    lab._folder = root / "challenges" / f"{name}_x"
    return lab


@pytest.fixture
def course(tmp_path) -> Course:
    write(
        tmp_path,
        {
            "challenges/l05_x/hints.yaml": HINTS,
            "challenges/l05_x/exam.yaml": EXAM,
            "challenges/l05_x/mistakes/copy_identity.py": MISTAKE,
            "upstream_snapshots/megatron-core.yaml": LOCK,
        },
    )
    seal = {"mainline": [{"name": "megatron", "snapshot": "megatron-core", "kinds": ["differential"]}]}
    labs = [make_lab(tmp_path, "l05", title="Parallel layers", seals=seal), make_lab(tmp_path, "l11", needs=["l05"])]
    return Course(
        root=tmp_path,
        title="Mainline",
        url="",
        mode="open",
        hint_after=[1, 3, 5],
        solution_after=5,
        chapters=[Chapter(id=1, title="Training", sentence="How a model is split.")],
        order=["l05", "l11"],
        labs=labs,
    )


@pytest.fixture
def lab(course) -> Lab:
    return course.lab("l05")
