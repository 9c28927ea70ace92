import pytest
from feedback_examples import LOCK, write

from grading.course import snapshots
from grading.course.catalog import CourseError


def test_a_lock_is_read(course):
    lock = snapshots.load(course.root)["megatron-core"]
    assert (lock.version, lock.licence, lock.archive, lock.size) == ("0.19.2", "BSD-3-Clause", "", None)
    assert lock.anchors["megatron/core/a.py::f"].lines == (1, 2)


def test_permalink(course):
    lock = snapshots.load(course.root)["megatron-core"]
    root = "https://github.com/NVIDIA/Megatron-LM/blob/core_v0.19.2"
    assert lock.permalink("megatron/core/a b.py", 3, 3) == f"{root}/megatron/core/a%20b.py#L3"
    assert lock.permalink("megatron/core/a.py", 3, 9) == f"{root}/megatron/core/a.py#L3-L9"


@pytest.mark.parametrize(
    ("text", "says"),
    [
        (LOCK.replace("https://", "javascript:"), r"upstream_snapshots/megatron-core.yaml:2: repository: "),
        (LOCK.replace("licence: BSD-3-Clause\n", ""), r"megatron-core.yaml:\d: 'licence' is missing"),
        (LOCK.replace("name: megatron-core", "name: vllm"), r"megatron-core.yaml:1: name is vllm"),
    ],
)
def test_a_broken_lock_is_named_with_its_line(tmp_path, text, says):
    write(tmp_path, {"upstream_snapshots/megatron-core.yaml": text})
    with pytest.raises(CourseError, match=says):
        snapshots.load(tmp_path)


def test_a_course_that_pins_nothing(tmp_path):
    assert snapshots.load(tmp_path) == {}
