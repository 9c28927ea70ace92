"""What runs in the judge's own process: jails up, torch imported once, then a fork with pytest for each job.

The jails' import of torch is the longest part of a cold grading, so they start before anything else is imported here.

Started as `python -I -m grading.judge.session`; standard input brings a line of settings, then a line a job. It loads
no conftest, no foreign plugin and no file of the learner's; what it prints itself is thrown away.
"""

import json
import os
import select
import signal
import sys
import time
import traceback
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

from grading.judge.stage import Stage
from grading.sandbox.forking import prepare_to_fork
from grading.sandbox.spec import Recipe

if TYPE_CHECKING:
    import pytest


def main() -> None:
    settings = json.loads(sys.stdin.readline())
    out = os.fdopen(settings.pop("events_fd"), "w", buffering=1)

    def tell(event: str, **fields: Any) -> None:
        out.write(json.dumps({"event": event, **fields}) + "\n")

    stage = _stage(settings)
    try:
        _warm_up(stage, settings["sides"])
        tell("warm")
        for line in sys.stdin:
            tell("end", code=_serve(stage, json.loads(line), tell))
    except Exception as error:
        tell("infra", reason=f"{type(error).__name__}: {error}")
    finally:
        stage.close()


def _stage(settings: dict[str, Any]) -> Stage:
    trees = {side: Path(path) for side, path in settings["trees"].items()}
    kept = {key: settings[key] for key in ("packages", "preload", "files", "env", "jailed")}
    recipes = {side: [_recipe(**one) for one in some] for side, some in settings.get("recipes", {}).items()}
    limits = SimpleNamespace(**settings["limits"])
    return Stage(limits=limits, trees=trees, recipes=recipes, gpu=settings.get("gpu", False), **kept)


def _recipe(name: str, **paths: str) -> Recipe:
    return Recipe(name, **{key: Path(path) for key, path in paths.items()})


def _warm_up(stage: Stage, sides: list[str]) -> None:
    """The zygotes import torch while this process does: the two longest parts of a cold grading go side by side.

    What is there by then is kept out of garbage collection: pytest ends with five whole ones, 0.1 s each with torch.
    """
    sandboxes = [stage.sandbox(side) for side in sides]
    import grading.judge.fixture
    import grading.judge.order
    import grading.judge.plugin

    grading.judge.plugin.pytest.main(["--version", "-c", os.devnull])  # imports its own plugins
    prepare_to_fork()
    for sandbox in sandboxes:
        sandbox.wait_ready()


def _serve(stage: Stage, job: dict[str, Any], tell: Any) -> int:
    """One job in a fork, so that no test leaves anything for the next; its exit code is pytest's.

    When nobody is there any more to hear the verdict, the job ends.
    """
    ended, alive = os.pipe()
    ended, alive = os.pipe()
    pid = os.fork()
    if pid == 0:
        code = 3
        try:
            code = _judge(stage, job, tell)
        except Exception as error:
            tell("infra", reason=f"{type(error).__name__}: {error}")
        finally:
            os._exit(code)
    os.close(alive)
    if not _closes_first(ended):
        os.kill(pid, signal.SIGKILL)
    os.close(ended)
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])


def _closes_first(pipe: int) -> bool:
    """Wait until nobody can write to `pipe` any more; False when nobody can write to standard input before."""
    poll = select.poll()
    for fd in (pipe, sys.stdin.fileno()):
        poll.register(fd, 0)  # a hang-up alone: jobs that wait in standard input are left there
    return pipe in {fd for fd, _ in poll.poll()}


def _judge(stage: Stage, job: dict[str, Any], tell: Any) -> int:
    stage.seed = job["seed"]
    vars(stage.limits).update(job["limits"])
    stage.deadline = time.monotonic() + job.get("wall_s", stage.limits.wall_s)
    stage.alone, stage.timeouts = job.get("alone", stage.alone), job.get("timeouts", stage.timeouts)
    inherited = set(stage.sandboxes)
    try:
        return int(_pytest(stage, job, tell))
    finally:
        for side in set(stage.sandboxes) - inherited:
            stage.sandboxes[side].close()


class _Announcer:
    """Tells the parent which tests there are, before the first one runs, and why a session broke off."""

    def __init__(self, tell: Any):
        self.tell = tell

    def pytest_configure(self, config: "pytest.Config") -> None:
        config.option.tbstyle = "native"  # nobody reads pytest's own account of a failure, and the long one takes 25 ms

    def pytest_collection_finish(self, session: "pytest.Session") -> None:
        from grading.judge.plugin import test_id

        self.tell("start", ids=[test_id(item) for item in session.items])

    def pytest_exception_interact(self, node: "pytest.Item | pytest.Collector", call: "pytest.CallInfo") -> None:
        if hasattr(node, "collect"):
            self.tell("infra", reason=f"the hidden tests do not load: {_place(node.path, call.excinfo.value)}")

    def pytest_keyboard_interrupt(self, excinfo: Any) -> None:
        self.tell("infra", reason=str(excinfo.value).removeprefix("INFRA "))


def _place(path: Path, error: BaseException) -> str:
    """test_x.py:7: NameError. Learners read it, so nothing that a hidden test says: no source line, no message."""
    error = error.__cause__ or error  # pytest's own error quotes the one that it was raised from
    frames = [one for one in traceback.extract_tb(error.__traceback__) if one.filename == str(path)]
    line = getattr(error, "lineno", None) or (frames[-1].lineno if frames else 1)
    return f"{path.name}:{line}: {type(error).__name__}"


def _pytest(stage: Stage, job: dict[str, Any], tell: Any) -> int:
    import pytest

    from grading.judge.order import Order
    from grading.judge.plugin import LabPlugin
    from grading.judge.report import TestResult

    def on_result(result: TestResult) -> None:
        tell("test", result=result.model_dump(mode="json"))

    tests = Path(job["tests"])
    arguments = [str(tests), "--noconftest", "-p", "no:cacheprovider", "--import-mode=importlib"]
    arguments += ["-c", os.devnull, f"--rootdir={tests}", "-p", "no:terminal", "-s"]
    arguments += ["-k", job["select"]] if job["select"] else []
    arguments += ["-x"] if job.get("stop") else []
    sys.dont_write_bytecode = True
    return pytest.main(arguments, plugins=[LabPlugin(stage, on_result), Order(stage, job), _Announcer(tell)])


if __name__ == "__main__":
    main()
