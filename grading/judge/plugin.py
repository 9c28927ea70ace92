"""pytest's side of the judge: the `lab` fixture, the marks, and each test's outcome as a TestResult.

In a grading the session registers `LabPlugin` itself. On a learner's branch plain `pytest` finds this module by its
entry point and, where a `.lab.json` lies at the root, runs the public tests on the work tree without a jail.
"""

import json
import secrets
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from grading.judge.errors import Failure, InfraError, NotRun
from grading.judge.report import TestResult

if TYPE_CHECKING:
    from grading.judge.fixture import Lab
    from grading.judge.stage import Stage


class LabPlugin:
    """Runs the tests of one lab on one stage; `on_result` gets each TestResult as it is known."""

    def __init__(self, stage: "Stage", on_result: Callable[[TestResult], None]):
        self.stage = stage
        self.on_result = on_result
        self.timeouts = 0
        self._labs: dict[str, Lab] = {}
        self._begun = 0.0

    def pytest_configure(self, config: pytest.Config) -> None:
        _register_marks(config)

    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        """The tests marked `gpu` or the others, never both: what is left out is not expected, so it is not missing."""
        items[:] = [item for item in items if (item.get_closest_marker("lab_gpu") is not None) == self.stage.gpu]

    @pytest.fixture
    def lab(self, request: pytest.FixtureRequest) -> "Lab":
        """The probes of the lab under test (grading.judge.fixture.Lab)."""
        from grading.judge.fixture import Lab

        name = test_id(request.node)
        self._labs[name] = Lab(self.stage, name)
        return self._labs[name]

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_setup(self, item: pytest.Item) -> None:
        self._begun = time.monotonic()
        if self.timeouts >= self.stage.timeouts or self._begun > self.stage.deadline:
            raise NotRun

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_makereport(self, item: pytest.Item, call: pytest.CallInfo[None]) -> Iterator[None]:
        report = yield
        error = call.excinfo.value if call.excinfo else None
        if isinstance(error, InfraError):
            pytest.exit(f"INFRA {error}", returncode=3)
        if error is not None or call.when == "call":
            result = self._result(item, error)
            self.timeouts += result.outcome == "timeout"
            self.on_result(result)
            if result.outcome != "passed":
                report.longrepr = in_words(result)
        return report

    def _result(self, item: pytest.Item, error: BaseException | None) -> TestResult:
        """The outcome in the words of the contract; a skip or anything unforeseen is not a pass."""
        lab = self._labs.get(test_id(item))
        outcome, kind, message, details = _ending(error)
        return TestResult(
            id=test_id(item),
            outcome=outcome,
            kind=kind,
            message=message,
            notes=lab.notes if lab else [],
            output=lab.output if lab else "",
            seconds=round(time.monotonic() - self._begun, 3),
            **describe(item),
            **details,
        )


def _ending(error: BaseException | None) -> tuple[str, str, str, dict[str, Any]]:
    """(outcome, kind, message, further fields of TestResult) of how a test function ended."""
    if error is None:
        return "passed", "ok", "", {}
    if isinstance(error, NotRun | pytest.skip.Exception):
        return "not_run", "not_run", str(error), {}
    if isinstance(error, Failure):
        outcome = "timeout" if error.kind.startswith("timeout@") else "failed"
        details = {key: value for key, value in error.details.items() if key in ("frames", "stacks")}
        details["stacks"] = details.get("stacks") or error.details.get("waiting", [])
        for key in ("expected", "got"):
            details[key] = str(error.details.get(key, ""))
        return outcome, error.kind, error.message, details
    if isinstance(error, AssertionError):
        return "failed", "assert", str(error)[:2000], {}
    return "failed", f"error:{type(error).__name__}", f"{type(error).__name__}: {error}"[:2000], {}


def describe(item: pytest.Item) -> dict[str, Any]:
    """What a test says of itself: contract numbers, topic, guard, and its sentence."""
    mark = item.get_closest_marker("lab_contract")
    doc = getattr(getattr(item, "function", None), "__doc__", None) or item.name
    return {
        "contract": list(mark.args) if mark else [],
        "topic": mark.kwargs.get("topic", "") if mark else "",
        "guard": item.get_closest_marker("lab_guard") is not None,
        "sentence": " ".join(doc.split()),
    }


def test_id(item: Any) -> str:
    return f"{Path(item.path).name}::{item.name}"


test_id.__test__ = False


def in_words(result: TestResult) -> str:
    """A failure as the learner reads it under plain pytest: sentence, expected / got, the learner's frames."""
    numbers = f" (contract {', '.join(map(str, result.contract))})" if result.contract else ""
    lines = [f"{result.sentence}{numbers}", f"  {result.message}"]
    if result.expected or result.got:
        lines += [f"  expected  {result.expected}", f"  got       {result.got}"]
    for frame in result.frames:
        lines += [f"  {frame.path}:{frame.line} in {frame.function}", f"      {frame.text}"]
    lines += [f"  {stack.says}" for stack in result.stacks]
    return "\n".join(lines)


def _register_marks(config: pytest.Config) -> None:
    config.addinivalue_line("markers", "lab_contract(*numbers, topic): the contract numbers that a test holds")
    config.addinivalue_line("markers", "lab_guard: a test of given behaviour")
    config.addinivalue_line("markers", "lab_gpu: a test for a GPU runner alone")


def pytest_configure(config: pytest.Config) -> None:
    """Plain pytest on a learner's branch."""
    settings = Path(config.rootpath) / ".lab.json"
    if config.pluginmanager.has_plugin("labs-session") or not settings.is_file():
        return
    from grading.judge.stage import Stage

    stage = local_stage(Stage, settings)
    config.pluginmanager.register(LabPlugin(stage, lambda result: None), "labs-session")
    config.add_cleanup(stage.close)


def local_stage(make: Any, settings: Path) -> "Stage":
    """The work tree as the stage: no jail, no reference, a fresh seed."""
    from grading.course.catalog import Limits

    run = json.loads(settings.read_text())["run"]
    limits = Limits(**run.pop("limits"))
    return make(limits=limits, trees={"submission": settings.parent}, jailed=False, seed=secrets.randbits(48), **run)


def pytest_report_header(config: pytest.Config) -> str | None:
    plugin = config.pluginmanager.get_plugin("labs-session")
    return f"labs: public tests without a jail, seed {plugin.stage.seed}" if plugin else None
