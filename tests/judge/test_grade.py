"""Whatever a learner hands in ends in a verdict, a sentence that a kind teacher would say, and the right exit code."""

import pytest
from synthetic import write_course

from grading.course.catalog import Course
from grading.course.submission import Refused, from_tree, from_worktree
from grading.course.trees import reference_tree, starter_tree
from grading.judge.carry import Run
from grading.judge.grade import grade, verdict_of
from grading.judge.process import write_tree
from grading.judge.report import TestResult, Verdict
from grading.sandbox import jail

OPS = "mini_infra/tiny/ops.py"
DOC = '    """Twice x."""\n'
RIGHT = f"""\
def double(x):
{DOC}    # Doubling is adding once.
    total = x.clone()
    total += x
    return total
"""


@pytest.fixture(scope="module")
def course(tmp_path_factory):
    root = write_course(tmp_path_factory.mktemp("course"))
    limits = "limits: {probe_s: 1}\n"
    for path in root.glob("challenges/*/lab.yaml"):
        path.write_text(path.read_text() + limits)
    return Course.load(root)


@pytest.fixture
def graded(course, judge):
    """grade the lab's file with its whole text changed by `edit`, through the shared process."""
    lab = course.lab("l01")
    starter = starter_tree(course, lab)

    def run(edit, linted=True):
        text = edit(reference_tree(course, lab)[OPS].decode()).encode()
        try:
            answer = from_tree(lab, {**starter, OPS: text}, starter)
        except Refused as refused:
            answer = refused
        return grade(course, lab, answer, jailed=jail.status().ok, judge=judge, linted=linted)

    return run


def body(*lines):
    """`double` with these lines as its body."""
    return lambda text: text.replace(RIGHT, "def double(x):\n" + DOC + "".join(f"    {line}\n" for line in lines))


def test_the_reference_passes(graded):
    report = graded(lambda text: text)
    assert (report.verdict, report.exit_code, report.reason) == (Verdict.PASS, 0, "")
    assert [test.kind for test in report.tests] == ["ok"] * 3
    assert report.counts is jail.status().ok


def test_the_starter_fails_for_the_right_reason(course, judge):
    lab = course.lab("l01")
    starter = starter_tree(course, lab)
    report = grade(course, lab, from_tree(lab, starter, starter), jailed=jail.status().ok, judge=judge)
    assert (report.verdict, report.exit_code) == (Verdict.FAIL, 1)
    assert report.reason == "The holes are not filled yet: this is the starter."
    assert [(test.kind, test.guard) for test in report.tests] == [
        ("error:NotImplementedError", False),
        ("error:NotImplementedError", False),
        ("ok", True),
    ]
    assert report.tests[0].message == "NotImplementedError: l01: write double"


@pytest.mark.parametrize(
    ("lines", "kind", "words"),
    [
        (["return x * 3"], "value", "entries differ"),
        (["return x[:2]"], "shape", "shape [2], expected [5]"),
        (["return (x * 2).float().half()"], "dtype", "torch.float16"),
        (["return x * float('nan')"], "nonfinite", "nan at [0]"),
        (["return 2"], "type", "int, expected a tensor"),
        (["return (2 * item for item in x)"], "type", "generator"),
        (["return x * undefined_name"], "error:NameError", "undefined_name"),
        (["raise SystemExit(0)"], "error:SystemExit", "0"),
        (["return double(x)"], "error:RecursionError", "recursion"),
    ],
)
def test_a_wrong_answer_is_told_by_its_kind(graded, lines, kind, words):
    report = graded(body(*lines))
    assert (report.verdict, report.exit_code) == (Verdict.FAIL, 1)
    assert report.tests[0].kind == kind
    assert words in report.tests[0].message


def test_an_error_names_the_learners_line(graded):
    frame = graded(body("scale = 2", "return x * undefined_name")).tests[0].frames[-1]
    assert (frame.path, frame.function, frame.text) == (OPS, "double", "return x * undefined_name")
    assert frame.line == 7


def test_an_endless_loop_is_a_timeout_that_says_where(graded):
    report = graded(body("while True:", "    x = x + 0"))
    assert (report.verdict, report.exit_code) == (Verdict.TIMEOUT, 1)
    assert [test.kind for test in report.tests] == ["timeout@double", "timeout@double", "not_run"]
    assert report.reason.endswith("; 1 tests were not run after that")
    assert report.tests[0].stacks[0].frames[-1].function == "double"


def test_a_syntax_error_has_file_and_line(graded):
    report = graded(lambda text: text + "def broken(:\n")
    assert (report.verdict, report.exit_code) == (Verdict.FAIL, 1)
    last = report.tests[0].frames[-1]
    assert report.tests[0].kind == "error:SyntaxError"
    assert (last.path, last.text) == (OPS, "def broken(:")


def test_an_error_at_import_fails_every_test_with_one_sentence(graded):
    report = graded(lambda text: text + "\nMISSING = not_there\n")
    assert report.verdict == Verdict.FAIL
    assert {test.message for test in report.tests} == {"NameError: name 'not_there' is not defined"}


def test_an_endless_import_is_a_timeout(graded):
    report = graded(lambda text: text + "\nwhile True:\n    pass\n")
    assert report.verdict == Verdict.TIMEOUT
    assert report.tests[0].kind == "timeout@<module>"


def test_what_the_lint_refuses_is_not_run(graded):
    report = graded(body("import os", "return x + x"))
    assert (report.verdict, report.exit_code, report.tests) == (Verdict.REFUSED, 2, [])
    assert (report.refusals[0].path, report.refusals[0].line) == (OPS, 6)


def test_the_wall_holds_without_the_lint(graded):
    report = graded(body("import os", "os._exit(0)"), linted=False)
    assert report.verdict == Verdict.FAIL
    assert report.tests[0].kind == "crash:exit status 0"


def test_a_file_that_is_gone_is_refused(course, judge, tmp_path):
    lab = course.lab("l01")
    starter = starter_tree(course, lab)
    write_tree(tmp_path, {path: blob for path, blob in starter.items() if path != OPS})
    with pytest.raises(Refused) as caught:
        from_worktree(tmp_path, lab, starter)
    report = grade(course, lab, caught.value, jailed=jail.status().ok, judge=judge)
    assert (report.verdict, report.exit_code) == (Verdict.REFUSED, 2)
    assert report.refusals[0].path == OPS


def test_one_seed_one_report(course, judge):
    lab = course.lab("l01")
    starter = starter_tree(course, lab)
    wrong = reference_tree(course, lab)[OPS].replace(b"total += x", b"total += 2 * x")
    answer = from_tree(lab, {**starter, OPS: wrong}, starter)
    options = {"jailed": jail.status().ok, "judge": judge}
    one, two, other = (grade(course, lab, answer, seed=seed, **options) for seed in (5, 5, 6))
    timeless = {"exclude": {"seconds": True, "tests": {"__all__": {"seconds"}}}}
    assert one.model_dump(**timeless) == two.model_dump(**timeless)
    assert one.tests[0].got != other.tests[0].got


def test_public_tests_tell_which_holes_they_did_not_need(tmp_path):
    root = write_course(tmp_path)
    settings = root / "challenges/l01_double/lab.yaml"
    settings.write_text(
        settings.read_text().replace("ops.py::double]", "ops.py::double, mini_infra/tiny/ops.py::negated]")
    )
    course = Course.load(root)
    lab = course.lab("l01")
    starter = starter_tree(course, lab)
    stub = starter[OPS].decode().partition("def negated")[2]
    half = reference_tree(course, lab)[OPS].decode().partition("def negated")[0] + "def negated" + stub
    answer = from_tree(lab, {**starter, OPS: half.encode()}, starter)
    report = grade(course, lab, answer, jailed=jail.status().ok, tests="public")
    assert report.verdict == Verdict.PASS
    assert [warning.reason for warning in report.warnings] == ["negated is not written yet"]


def test_without_a_jail_the_report_says_that_it_does_not_count(course):
    lab = course.lab("l01")
    starter = starter_tree(course, lab)
    report = grade(course, lab, from_tree(lab, reference_tree(course, lab), starter), jailed=False)
    assert (report.verdict, report.counts, report.jail) == (Verdict.PASS, False, "none")


def test_hidden_tests_that_vanished_are_our_trouble(course, tmp_path):
    lab = course.lab("l02")
    committed = lab.folder / "fingerprints.json"
    committed.write_text('{"tests": ["test_hidden.py::test_gone"], "mistakes": {}}')
    starter = starter_tree(course, lab)
    report = grade(course, lab, from_tree(lab, reference_tree(course, lab), starter), jailed=jail.status().ok)
    committed.unlink()
    assert (report.verdict, report.exit_code) == (Verdict.INFRA, 3)
    assert "fingerprints.json: run labs check l02 --write (tried twice)" in report.reason


@pytest.mark.parametrize(
    ("broken", "error"),
    [
        ("def secret(:", "SyntaxError"),
        ("import secret", "ModuleNotFoundError"),
        ("raise ValueError('secret')", "ValueError"),
    ],
)
def test_hidden_tests_that_do_not_load_are_not_quoted(tmp_path, broken, error):
    """A learner reads the reason: on GitHub it is in the artifact, the comment and the log."""
    course = Course.load(write_course(tmp_path))
    lab = course.lab("l01")
    (lab.folder / "hidden/test_hidden.py").write_text(f"import torch\n{broken}\n")
    starter = starter_tree(course, lab)
    report = grade(course, lab, from_tree(lab, reference_tree(course, lab), starter), jailed=jail.status().ok)
    assert report.verdict is Verdict.INFRA
    assert report.reason == f"the hidden tests do not load: test_hidden.py:2: {error} (tried twice)"
    assert "secret" not in report.model_dump_json()


def result(test_id, outcome="passed", kind="ok", guard=False):
    return TestResult(id=test_id, outcome=outcome, kind=kind, guard=guard, sentence="")


class Answer:
    holes_filled = True


@pytest.mark.parametrize(
    ("results", "verdict"),
    [
        ([result("a"), result("b")], Verdict.PASS),
        ([result("a")], Verdict.INFRA),
        ([result("a"), result("a")], Verdict.INFRA),
        ([result("a", guard=True), result("b", guard=True)], Verdict.INFRA),
        ([result("a"), result("b", "not_run", "not_run")], Verdict.TIMEOUT),
        ([result("a"), result("b", "failed", "value")], Verdict.FAIL),
        ([result("a", "timeout", "timeout@f"), result("b", "failed", "value")], Verdict.TIMEOUT),
        ([result("a", "failed", "tamper"), result("b", "timeout", "timeout@f")], Verdict.TAMPER),
        ([], Verdict.INFRA),
    ],
)
def test_a_pass_needs_every_expected_test_once(results, verdict):
    assert verdict_of(Run(expected=["a", "b"], results=results), Answer())[0] == verdict
