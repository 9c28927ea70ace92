"""What several files of this room share."""

import pytest

from grading.judge.carry import judge_for
from grading.sandbox import jail


@pytest.fixture(scope="module")
def judge(course):
    """One process for the gradings of a file's own `course`."""
    with judge_for(course.lab("l01"), jail.status().ok) as shared:
        yield shared
