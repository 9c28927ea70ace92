import pytest
from feedback_examples import all_passed, failing, infra, replaced, report, starter, wrong

from grading.feedback import diagnose
from grading.feedback.advice import Attempt, advise, repeat_command, topics


def attempt(n: int, verdict: str = "FAIL", topic: str = "adjoint") -> Attempt:
    return Attempt(n=n, user="ada", commit="1" * 40, verdict=verdict, topics=[topic] if topic else [])


def one_wrong():
    return report("FAIL", replaced(all_passed(), wrong(2)))


@pytest.mark.parametrize(("earlier", "level"), [(0, 1), (1, 1), (2, 2), (4, 3), (9, 3)])
def test_the_hint_is_the_one_the_attempts_have_earned(course, lab, earlier, level):
    advice = advise(course, lab, one_wrong(), [attempt(n) for n in range(earlier)])
    assert (advice.hint.level, advice.attempt) == (level, earlier + 1)


def test_attempts_that_failed_elsewhere_earn_nothing(course, lab):
    assert advise(course, lab, one_wrong(), [attempt(n, topic="sp") for n in range(4)]).hint.level == 1


def test_a_run_that_is_no_attempt_gives_what_was_asked_for(course, lab):
    assert advise(course, lab, one_wrong(), None).hint is None
    advice = advise(course, lab, one_wrong(), None, {"adjoint": 2})
    assert (advice.hint.level, advice.attempt, advice.topic) == (2, 0, "adjoint")


def test_the_diagnosis_is_the_nearest_known_mistake(course, lab):
    assert advise(course, lab, one_wrong(), []).diagnosis is None
    diagnose.save(lab, [], {"copy_identity": diagnose.merge([diagnose.fingerprint(one_wrong())])})
    assert advise(course, lab, one_wrong(), []).diagnosis.text == "Each rank has its own share of dX."


def test_what_all_tests_share_needs_no_diagnosis(course, lab):
    diagnose.save(lab, [], {"copy_identity": diagnose.merge([diagnose.fingerprint(starter())])})
    assert advise(course, lab, starter(), []).diagnosis is None


def test_after_pass_the_exam_and_the_seal(course, lab):
    advice = advise(course, lab, report("PASS", all_passed()), [attempt(1)])
    assert len(advice.exam) == 5
    assert advice.seals == {"patch": True, "mainline": False, "exam": False}
    assert advice.mainline_command == "labs grade l05 --commit 8c1f0a6 --seal mainline"
    assert advise(course, lab, report("PASS", all_passed()), [], earned=["mainline"]).mainline_command == ""
    assert advise(course, lab, report("PASS", all_passed(), seal="mainline"), []).mainline_command == ""
    assert advise(course, course.lab("l11"), report("PASS", all_passed()), []).mainline_command == ""
    assert advise(course, lab, one_wrong(), []).mainline_command == ""
    assert advice == advise(course, lab, report("PASS", all_passed()), [attempt(1)])
    assert "SECRET" not in advice.model_dump_json()


def test_no_seal_without_a_jail_and_none_from_public_tests(course, lab):
    assert not advise(course, lab, report("PASS", all_passed(), counts=False, jail="none"), []).seals["patch"]
    tests = [test.model_copy(update={"id": f"test_public.py::t{n}"}) for n, test in enumerate(all_passed())]
    advice = advise(course, lab, report("PASS", tests), None)
    assert (advice.seals["patch"], advice.exam, advice.repeat_command) == (False, [], "labs test")


def test_a_seal_is_kept(course, lab):
    assert advise(course, lab, one_wrong(), [attempt(1, "PASS", "")]).seals["patch"]
    unjailed = attempt(1, "PASS", "").model_copy(update={"counts": False})
    assert not advise(course, lab, one_wrong(), [unjailed]).seals["patch"]
    assert "mainline" not in advise(course, course.lab("l11"), one_wrong(), []).seals


def test_infra_is_no_attempt(course, lab):
    assert advise(course, lab, infra(), [attempt(1)]).attempt == 0


def test_repeat_command(course):
    assert repeat_command(course, one_wrong()) == "labs grade l05 --commit 8c1f0a6 --seed 8123"
    assert repeat_command(course, one_wrong(), "--impl starter") == "labs grade l05 --impl starter --seed 8123"
    bare = report("FAIL", [wrong(2)], seal="mainline", counts=False, jail="none")
    assert repeat_command(course, bare) == "labs grade l05 --commit 8c1f0a6 --seed 8123 --seal mainline --no-jail"


def test_topics_of_a_report():
    assert topics(failing()) == ["adjoint", "sp"]
