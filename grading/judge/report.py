"""The Report: everything one grading found out, as data. Rendering it is feedback's business."""

from enum import StrEnum
from typing import Literal

from pydantic import BaseModel, ConfigDict, Field

SCHEMA_VERSION = 1


class Verdict(StrEnum):
    """How a grading ended; `precedence` says which one wins when several apply."""

    PASS = "PASS"
    FAIL = "FAIL"
    TIMEOUT = "TIMEOUT"
    TAMPER = "TAMPER"
    REFUSED = "REFUSED"
    INFRA = "INFRA"

    @property
    def precedence(self) -> int:
        return list(Verdict).index(self)

    @property
    def exit_code(self) -> int:
        return {"PASS": 0, "FAIL": 1, "TIMEOUT": 1, "TAMPER": 2, "REFUSED": 2, "INFRA": 3}[self.value]


class Model(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class Frame(Model):
    """One line of a Python stack; `path` is relative to the branch's root."""

    path: str
    line: int
    function: str
    text: str = ""


class Stack(Model):
    """Where one rank stood when the deadline passed, innermost frame last."""

    rank: int
    frames: list[Frame]
    says: str


class Refusal(Model):
    path: str
    line: int | None
    reason: str


class TestResult(Model):
    """One hidden test. `kind` is its line in the fingerprint: ok, value, shape, dtype, error:Type, …"""

    __test__ = False

    id: str
    contract: list[int] = []
    topic: str = ""
    guard: bool = False
    outcome: Literal["passed", "failed", "timeout", "not_run"]
    kind: str
    sentence: str
    message: str = ""
    expected: str = ""
    got: str = ""
    frames: list[Frame] = []
    stacks: list[Stack] = []
    output: str = ""
    notes: list[str] = []
    seconds: float = 0.0


class Report(Model):
    """One grading of one tree. PASS is only ever computed from the tests (see `judge.grade.verdict_of`)."""

    schema_version: Literal[1] = Field(default=SCHEMA_VERSION, alias="schema")
    lab: str
    title: str
    commit: str | None
    base: str = Field(description="hash of the trusted tree that the submission was laid over")
    seed: int
    verdict: Verdict
    seal: Literal["patch", "mainline", "gpu"] = Field(
        default="patch", description="which tests; gpu: those that need a device, a bonus that earns no seal"
    )
    counts: bool = Field(description="False when the learner's code ran without a jail")
    jail: Literal["root", "user", "none"]
    reason: str = ""
    refusals: list[Refusal] = []
    warnings: list[Refusal] = []
    not_graded: list[str] = []
    moved: bool = Field(default=False, description="the head does not descend from the lab branch's tip")
    tests: list[TestResult] = []
    seconds: float

    model_config = ConfigDict(extra="forbid", frozen=True, populate_by_name=True, serialize_by_alias=True)

    @property
    def failed(self) -> list[TestResult]:
        return [test for test in self.tests if test.outcome in ("failed", "timeout")]

    @property
    def passed_count(self) -> int:
        return sum(test.outcome == "passed" for test in self.tests)

    @property
    def exit_code(self) -> int:
        return self.verdict.exit_code
