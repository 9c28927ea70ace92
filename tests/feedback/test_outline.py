import feedback_examples as examples
from feedback_examples import BACKWARD, LAYERS, all_passed, raised, replaced, report, starter, unwritten, wrong

from grading.feedback import outline
from grading.judge.report import Frame


def test_parameters_of_one_test_are_told_once():
    found = outline.failures(report("FAIL", replaced(all_passed(), wrong(2), wrong(4))))
    assert [failure.title for failure in found] == [BACKWARD]
    assert outline.ids(found[0].tests) == "test_linear.py::test_backward_dense[2], [4]"


def test_an_error_raised_on_one_line_is_told_once():
    found = outline.failures(examples.failing())
    assert [len(failure.tests) for failure in found] == [2, 2]
    assert found[1].title == "2 tests fail for one reason: RuntimeError was raised."
    assert found[1].contract == "contract 6, 10"


def test_holes_are_named_once_and_in_total():
    [failure] = outline.failures(starter())
    assert failure.title == "Not written yet: 10 tests stopped at 2 holes."
    assert failure.holes == ["ColumnParallelLinear.forward", "RowParallelLinear.forward"]


def test_a_learners_own_not_implemented_error_is_no_hole():
    mine = unwritten(all_passed()[0], "x").model_copy(update={"message": "NotImplementedError: later"})
    [failure] = outline.failures(report("FAIL", replaced(all_passed(), mine)))
    assert failure.holes == []


def test_failures_come_in_the_contracts_order():
    tests = [raised("test_z", "z", 9), *all_passed(), wrong(2), raised("test_a", "a", 2)]
    tests[-1] = tests[-1].model_copy(update={"frames": [Frame(path=LAYERS, line=1, function="f")]})
    assert [failure.contract for failure in outline.failures(report("FAIL", tests))] == [
        "contract 2",
        "contract 4",
        "contract 9",
    ]


def test_common_means_all_that_ran_and_one_reason():
    broken = [raised(test.id, test.sentence, 1) for test in all_passed()]
    assert outline.common(report("FAIL", broken))
    assert outline.common(starter())
    assert not outline.common(examples.failing())
    assert not outline.common(report("FAIL", [wrong(2)]))


def test_headline_counts():
    assert outline.headline(examples.timing_out()) == "6 of 11 tests passed, 4 not run"
    assert outline.headline(examples.refused()) == "no test was run"


def test_without_a_jail_a_verdict_does_not_count_and_says_so():
    assert "labs doctor" in outline.standing(report("PASS", all_passed(), counts=False, jail="none"))
    assert outline.standing(examples.infra()) == ""
