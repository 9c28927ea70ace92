"""What a lab's tests import: `from grading import lab`. The fixture of the same name (judge/plugin.py) extends it.

@lab.contract(4, topic="adjoint")
def test_backward_dense(lab):
    '''dX equals the dense layer's.'''       <- the sentence that the learner reads when it fails
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import pytest


@dataclass(frozen=True)
class Error:
    """An exception of a rank, as data: type and bases by name, message, and the innermost line of the learner's."""

    type: str
    bases: tuple[str, ...]
    message: str
    file: str
    line: int


@dataclass(frozen=True)
class Died:
    """A rank that ended without an answer; `signal` is a name (SIGKILL) or "exit status 1"."""

    signal: str


def contract(*numbers: int, topic: str = "") -> Callable[[Any], Any]:
    """Tie a test to the numbers of the contract in task.md, and to a topic of hints.yaml."""
    return pytest.mark.lab_contract(*numbers, topic=topic)


def gpu(test: Any) -> Any:
    """Mark a hidden test that needs a GPU: a grading of its own runs it, and no seal waits for it."""
    return pytest.mark.lab_gpu(test)


def guard(test: Any) -> Any:
    """Mark a test of given behaviour: it passes on the starter, and alone it is never a PASS."""
    return pytest.mark.lab_guard(test)
