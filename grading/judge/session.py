"""The judge's own process: pytest over the hidden tests, events to the parent on one descriptor, nothing else.

Started as `python -I -m grading.judge.session` with its settings as JSON on standard input. It loads no conftest, no
foreign plugin and no file of the learner's; what it prints itself is thrown away.
"""

import json
import os
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from grading.course.catalog import Limits
from grading.judge.plugin import LabPlugin, test_id
from grading.judge.report import TestResult
from grading.judge.stage import Stage


def main() -> None:
    settings = json.load(sys.stdin)
    out = os.fdopen(settings.pop("events_fd"), "w", buffering=1)

    def tell(event: str, **fields: Any) -> None:
        out.write(json.dumps({"event": event, **fields}) + "\n")

    tests, select = Path(settings.pop("tests")), settings.pop("select")
    stage = _stage(**settings)
    try:
        stage.sandbox("submission")
        code = int(_run(stage, tests, select, tell))
        tell("end", code=code)
    except Exception as error:
        tell("infra", reason=f"{type(error).__name__}: {error}")
        raise
    finally:
        stage.close()
    sys.exit(0 if code in (0, 1) else code)


def _stage(limits: dict[str, Any], trees: dict[str, str], wall: bool = True, **rest: Any) -> Stage:
    stage = Stage(limits=Limits(**limits), trees={side: Path(path) for side, path in trees.items()}, **rest)
    stage.deadline = time.monotonic() + stage.limits.wall_s
    return stage


class _Announcer:
    """Tells the parent which tests there are, before the first one runs, and why a session broke off."""

    def __init__(self, tell: Any):
        self.tell = tell

    def pytest_collection_finish(self, session: pytest.Session) -> None:
        self.tell("start", ids=[test_id(item) for item in session.items])

    def pytest_collectreport(self, report: pytest.CollectReport) -> None:
        if report.failed:
            self.tell("infra", reason=f"the hidden tests do not load: {str(report.longrepr)[-1500:]}")

    def pytest_keyboard_interrupt(self, excinfo: Any) -> None:
        self.tell("infra", reason=str(excinfo.value).removeprefix("INFRA "))


def _run(stage: Stage, tests: Path, select: str | None, tell: Any) -> int:
    def on_result(result: TestResult) -> None:
        tell("test", result=result.model_dump(mode="json"))

    arguments = [str(tests), "--noconftest", "-p", "no:cacheprovider", "--import-mode=importlib"]
    arguments += ["-c", os.devnull, f"--rootdir={tests}", "-p", "no:terminal", "-s"]
    if select:
        arguments += ["-k", select]
    sys.dont_write_bytecode = True
    return pytest.main(arguments, plugins=[LabPlugin(stage, on_result), _Announcer(tell)])


if __name__ == "__main__":
    main()
