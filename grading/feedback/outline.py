"""What a reader is told and in which words, before it becomes Markdown or terminal text.

Nothing is escaped here; the two renderers do that, each in its own way.
"""

import re
from dataclasses import dataclass

from grading.judge.report import Frame, Report, TestResult, Verdict

HOLE = re.compile(r"\bl\d\d: write (\S+)")  # course.trees.stub_message
PUBLIC = "test_public.py::"
LAST = 10**6  # tests without a contract number come last

SEALS = {"patch": "", "mainline": " (Mainline seal)", "gpu": " (GPU tests)"}  # after a lab's title
KINDS = {
    "value": "The values differ.",
    "shape": "The shape differs.",
    "dtype": "The dtype differs.",
    "type": "The type differs.",
    "nonfinite": "A value is not finite.",
    "assert": "The check does not hold.",
    "tamper": "The sandbox sent bytes that the project's own worker would not send.",
}


@dataclass(frozen=True)
class Failure:
    """Failed tests with one cause, told once. `holes` names what is not written yet, where that is the cause."""

    tests: list[TestResult]
    holes: list[str]

    @property
    def first(self) -> TestResult:
        return self.tests[0]

    @property
    def sentences(self) -> list[str]:
        return list(dict.fromkeys(test.sentence or test.id for test in self.tests))

    @property
    def contract(self) -> str:
        """ "contract 4, 10", "given behaviour" for guards, else nothing."""
        numbers = sorted({number for test in self.tests for number in test.contract})
        if numbers:
            return "contract " + ", ".join(map(str, numbers))
        return "given behaviour" if all(test.guard for test in self.tests) else ""

    @property
    def title(self) -> str:
        """One sentence: the contract's, or the cause that several tests share."""
        if self.holes:
            return f"Not written yet: {count(len(self.tests), 'test')} stopped at {count(len(self.holes), 'hole')}."
        if len(self.sentences) == 1:
            return self.sentences[0]
        return f"{len(self.tests)} tests fail for one reason: {cause(self.first)}"


def count(number: int, noun: str) -> str:
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"


def cause(test: TestResult) -> str:
    """What went wrong in a word of the fingerprint: "ValueError was raised." """
    word, _, rest = test.kind.partition(":")
    if word == "error":
        return f"{rest} was raised."
    if word == "crash":
        return f"a rank died of {rest}."
    if test.outcome == "timeout":
        return "no answer before the deadline."
    return KINDS.get(test.kind, "The check does not hold.")


def why(test: TestResult) -> str:
    """What the test says of its failure, else the cause."""
    return test.message or cause(test)


def failures(report: Report) -> list[Failure]:
    """The failed tests in the contract's order, those with one cause together."""
    groups: dict[tuple, list[TestResult]] = {}
    for test in sorted(report.failed, key=lambda test: min(test.contract, default=LAST)):
        groups.setdefault(_signature(test), []).append(test)
    return [Failure(tests, sorted({hole for test in tests for hole in holes(test)})) for tests in groups.values()]


def holes(test: TestResult) -> list[str]:
    """The hole whose NotImplementedError ended this test, if one did."""
    return HOLE.findall(test.message)[:1] if test.kind == "error:NotImplementedError" else []


def _signature(test: TestResult) -> tuple:
    """Equal for tests that need telling only once: one raising line, or one test with other parameters."""
    if holes(test):
        return ("holes",)
    if test.kind.startswith("error:"):
        return (test.kind, _place(test.frames[-1]) if test.frames else test.message)
    return (test.kind, base_id(test.id))


def _place(frame: Frame) -> tuple[str, int]:
    return frame.path, frame.line


def base_id(test_id: str) -> str:
    return test_id.partition("[")[0]


def ids(tests: list[TestResult]) -> str:
    """ "test_linear.py::test_forward[2], [4]; test_linear.py::test_bias" """
    labels: dict[str, list[str]] = {}
    for test in tests:
        base, bracket, label = test.id.partition("[")
        labels.setdefault(base, []).append(bracket + label)
    return "; ".join(base + ", ".join(filter(None, found)) for base, found in labels.items())


def common(report: Report) -> bool:
    """Every test that ran failed for one and the same reason: no diagnosis can say more than the reason."""
    ran = [test for test in report.tests if test.outcome != "not_run" and not test.guard]
    return len(ran) > 1 and len(report.failed) >= len(ran) and len(failures(report)) == 1


def public(report: Report) -> bool:
    """Only the tests that stand on the branch were run: helpful, but never a verdict that counts."""
    return bool(report.tests) and all(test.id.startswith(PUBLIC) for test in report.tests)


def headline(report: Report) -> str:
    """ "9 of 12 tests passed", with what was not run."""
    if not report.tests:
        return "no test was run"
    kind = "public test" if public(report) else "test"
    skipped = sum(test.outcome == "not_run" for test in report.tests)
    line = f"{report.passed_count} of {count(len(report.tests), kind)} passed"
    return line + (f", {skipped} not run" if skipped else "")


def meaning(report: Report) -> str:
    """What the verdict says in a sentence, where the tests do not say it themselves."""
    says = {
        Verdict.REFUSED: "Nothing was run.",
        Verdict.TAMPER: "The sandbox sent bytes that the project's own worker would not send.",
        Verdict.INFRA: "Our fault, not yours: no attempt is counted.",
    }.get(report.verdict, "")
    return " ".join(filter(None, [says, report.reason]))


def standing(report: Report) -> str:
    """Why this verdict does not count, or nothing."""
    ran = report.verdict not in (Verdict.REFUSED, Verdict.INFRA)
    if report.counts or public(report) or not ran:
        return ""
    return "Does not count: your code ran without a jail. `labs doctor` says what this machine lacks."


def sides(report: Report) -> tuple[str, str]:
    """What the two values that differ are called: a Mainline test compares with upstream's own answer."""
    return ("upstream", "patch") if report.seal == "mainline" else ("expected", "got")


def moved(report: Report) -> str:
    return f"lab/{report.lab} has moved: git pull --no-rebase" if report.moved else ""
