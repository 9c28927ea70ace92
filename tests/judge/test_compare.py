"""The strict comparison names the first thing that is wrong, in the order type, shape, dtype, finite, value."""

import math

import pytest
import torch

from grading.judge.compare import check, close, show
from grading.judge.errors import Failure

F64 = torch.float64


@pytest.mark.parametrize(
    ("got", "want", "kind", "words"),
    [
        (None, torch.ones(2), "type", "NoneType, expected a tensor"),
        ([1.0, 1.0], torch.ones(2), "type", "list, expected a tensor"),
        (torch.ones(2, 1), torch.ones(2), "shape", "shape [2, 1], expected [2]"),
        (torch.ones(2), torch.ones(2, dtype=F64), "dtype", "torch.float32, expected torch.float64"),
        (torch.tensor([1.0, math.nan]), torch.ones(2), "nonfinite", "nan at [1]"),
        (torch.tensor([1.0, 2.0]), torch.ones(2), "value", "1 of 2 entries differ, first at [1]"),
        (torch.tensor(True), torch.tensor(False), "value", "differ"),
        ({"a": 1}, {"b": 1}, "type", "other keys"),
        ({"a": [1, 2]}, {"a": [1, 3]}, "value", "['a'][1] differs"),
        ((1,), [1], "type", "tuple, expected a list"),
        ([1], [1, 2], "shape", "another length"),
        (1, 1.0, "type", "int, expected a float"),
        (True, 1, "type", "bool, expected a int"),
        (math.inf, 1.0, "nonfinite", "inf"),
        (1.0, 1.1, "value", "differs"),
    ],
)
def test_kinds(got, want, kind, words):
    with pytest.raises(Failure) as caught:
        close(got, want, what="it")
    assert caught.value.kind == kind
    assert words in caught.value.message


def test_tolerance_scales_with_the_oracle():
    want = torch.tensor([1000.0, 0.0], dtype=F64)
    close(want + 0.9e-9, want, tol=1e-12)
    with pytest.raises(Failure, match=r"tolerance 1\.0e-09"):
        close(want + 1.1e-9, want, tol=1e-12)


def test_tolerance_does_not_shrink_below_one():
    close(torch.tensor([1e-13], dtype=F64), torch.zeros(1, dtype=F64), tol=1e-12)


def test_nonfinite_values_must_stand_in_the_same_places():
    want = torch.tensor([math.nan, math.inf, 1.0])
    close(want.clone(), want, tol=1e-6, nonfinite=True)
    with pytest.raises(Failure, match=r"first at \[1\]"):
        close(torch.tensor([math.nan, -math.inf, 1.0]), want, tol=1e-6, nonfinite=True)
    close(math.nan, math.nan)


def test_equal_when_tolerance_is_zero():
    close(torch.tensor([], dtype=F64), torch.tensor([], dtype=F64))
    with pytest.raises(Failure):
        close(torch.tensor([1.0]), torch.nextafter(torch.tensor([1.0]), torch.tensor([2.0])))


def test_integers_are_compared_exactly_whatever_the_tolerance():
    with pytest.raises(Failure):
        close(torch.tensor([2**53 + 1]), torch.tensor([2**53]), tol=1.0)


def test_check_shows_both_sides():
    with pytest.raises(Failure) as caught:
        check(False, "too many messages", expected=1, got=torch.arange(9))
    assert caught.value.details == {"expected": "1", "got": "int64 [9] [0, 1, 2, 3, 4, 5, …]"}
    check(True, "fine")


def test_show_is_short():
    assert show("x" * 1000) == "x" * 400 + " …"
