"""Reports as the judge writes them, one a verdict, with l05's material; and a small course around them."""

from pathlib import Path

from grading.feedback.advice import Advice
from grading.feedback.diagnose import Diagnosis
from grading.feedback.exam import Asked
from grading.feedback.hints import Hint
from grading.judge.report import Frame, Refusal, Report, Stack, TestResult

LAYERS = "mini_infra/megatron/core/tensor_parallel/layers.py"
MAPPINGS = "mini_infra/megatron/core/tensor_parallel/mappings.py"
LOCK = """\
name: megatron-core
repository: https://github.com/NVIDIA/Megatron-LM
ref: core_v0.19.2
version: 0.19.2
licence: BSD-3-Clause
anchors:
  megatron/core/a.py::f: {lines: [1, 2], source: 0123456789abcdef}
"""
SHA = "8c1f0a6d5b3e4f27a9908d1c6b5e4f3a2d1c0b9a"

FORWARD = "Column and row outputs equal the dense layer's."
BACKWARD = "dX, dW and db equal the dense layer's slices on every rank."
VOLUME = "Each layer call makes exactly the collectives of table 5, with their payloads."
SHARD = "With sequence parallelism the forward saves the shard, not the gathered input."
MUTATED = "No input is written to: input_, grad_output and the weights keep their bits."
ERRORS = "An output size that tp does not divide is upstream's AssertionError."


def passed(name: str, sentence: str, contract: int, topic: str = "", guard: bool = False) -> TestResult:
    return TestResult(
        id=f"test_linear.py::{name}",
        contract=[contract],
        topic=topic,
        guard=guard,
        outcome="passed",
        kind="ok",
        sentence=sentence,
        seconds=0.05,
    )


def all_passed() -> list[TestResult]:
    return [
        *(passed(f"test_forward_dense[{tp}]", FORWARD, 1) for tp in (1, 2, 4)),
        *(passed(f"test_backward_dense[{tp}]", BACKWARD, 4, "adjoint") for tp in (1, 2, 4)),
        passed("test_volume[column]", VOLUME, 5, "adjoint"),
        passed("test_volume[row]", VOLUME, 5, "adjoint"),
        passed("test_saved_shard", SHARD, 6, "sp"),
        passed("test_not_mutated", MUTATED, 10, "adjoint"),
        passed("test_errors", ERRORS, 12, guard=True),
    ]


def replaced(tests: list[TestResult], *new: TestResult) -> list[TestResult]:
    by_id = {test.id: test for test in new}
    return [by_id.get(test.id, test) for test in tests]


def report(verdict: str, tests: list[TestResult], **more) -> Report:
    given = {
        "lab": "l05",
        "title": "Column- and row-parallel linear layers",
        "commit": SHA,
        "base": "5d2e" * 10,
        "seed": 8123,
        "verdict": verdict,
        "counts": True,
        "jail": "root",
        "tests": tests,
        "seconds": 1.42,
    }
    return Report(**{**given, **more})


def wrong(tp: int) -> TestResult:
    return TestResult(
        id=f"test_linear.py::test_backward_dense[{tp}]",
        contract=[4],
        topic="adjoint",
        outcome="failed",
        kind="value",
        sentence=BACKWARD,
        message="dX on rank 1: 64 of 64 values differ, the largest by 3.21 at [0, 1, 3] (allowed 1e-12)",
        expected="tensor([-0.4127,  1.9032,  0.1180, …], dtype=torch.float64)",
        got="tensor([ 0.2210,  0.4471, -1.3061, …], dtype=torch.float64)",
        frames=[],
        notes=["ratio:none"],
    )


def raised(name: str, sentence: str, contract: int) -> TestResult:
    return TestResult(
        id=f"test_linear.py::{name}",
        contract=[contract],
        topic="sp",
        outcome="failed",
        kind="error:RuntimeError",
        sentence=sentence,
        message="RuntimeError: shape '[4, 8]' is invalid for input of size 16",
        frames=[
            Frame(path=LAYERS, line=71, function="forward", text="total = _gather_along_first_dim(input, tp_group)"),
            Frame(path=MAPPINGS, line=58, function="_gather_along_first_dim", text="return out.view(4, 8)"),
        ],
        output="gathering on rank 0\n",
    )


def hung() -> TestResult:
    says = [
        "rank 0 waits for all_reduce (posted layers.py:88) at layers.py:91",
        "rank 1 has left the function",
    ]
    frames = [Frame(path=LAYERS, line=91, function="backward", text="handle.wait()")]
    return TestResult(
        id="test_linear.py::test_volume[column]",
        contract=[5],
        topic="adjoint",
        outcome="timeout",
        kind="timeout@backward",
        sentence=VOLUME,
        message="no answer within 2 s",
        stacks=[Stack(rank=0, frames=frames, says=says[0]), Stack(rank=1, frames=[], says=says[1])],
    )


def not_run(test: TestResult) -> TestResult:
    return test.model_copy(update={"outcome": "not_run", "kind": "not_run", "seconds": 0.0})


def unwritten(test: TestResult, hole: str) -> TestResult:
    return test.model_copy(
        update={"outcome": "failed", "kind": "error:NotImplementedError", "message": f"l05: write {hole}"}
    )


def starter() -> Report:
    tests = all_passed()
    tests[:6] = [unwritten(test, "ColumnParallelLinear.forward") for test in tests[:6]]
    tests[6:10] = [unwritten(test, "RowParallelLinear.forward") for test in tests[6:10]]
    return report("FAIL", tests)


def failing() -> Report:
    tests = replaced(
        all_passed(),
        wrong(2),
        wrong(4),
        raised("test_saved_shard", SHARD, 6),
        raised("test_not_mutated", MUTATED, 10),
    )
    warning = Refusal(
        path=LAYERS, line=40, reason="the line holds a character that reverses the text after it (U+202E)"
    )
    return report("FAIL", tests, moved=True, not_graded=["notes.md", "tests/test_public.py"], warnings=[warning])


def timing_out() -> Report:
    tests = replaced(all_passed(), hung())
    tests[7:] = [not_run(test) for test in tests[7:]]
    return report("TIMEOUT", tests, seconds=4.3, reason="A second deadline passed; the tests after it were not run.")


def refused() -> Report:
    refusals = [
        Refusal(path=LAYERS, line=3, reason="import of torch.nn.parallel; write the collectives yourself"),
        Refusal(path=MAPPINGS, line=None, reason="is a symbolic link; commit the file itself"),
    ]
    return report("REFUSED", [], refusals=refusals, seconds=0.03)


def tampered() -> Report:
    return report(
        "TAMPER", all_passed()[:3], reason="rank 1 answered a request twice (test_linear.py::test_volume[row])."
    )


def infra() -> Report:
    return report("INFRA", [], counts=False, jail="none", reason="The jail did not start: bwrap is not installed.")


def parting() -> Report:
    """A Mainline grading whose patch does not do what upstream does."""
    test = TestResult(
        id="test_megatron.py::test_borders[2]",
        contract=[3],
        topic="adjoint",
        outcome="failed",
        kind="value",
        sentence="Each border carries a tensor there, and a gradient back, as megatron-core's does.",
        message="the patch parts from upstream: the gradient of x on rank 0: 2 of 2 entries differ, first at [0, 0] "
        "(tolerance 1.0e-12). Inputs: name = gather, x = float64 [1, 2] [0.229771, 0.0147415]",
        expected="-0.2138706285",
        got="-0.427741257",
    )
    return report("FAIL", [test], seal="mainline")


REPORTS = {
    "PASS": lambda: report("PASS", all_passed()),
    "FAIL": failing,
    "TIMEOUT": timing_out,
    "REFUSED": refused,
    "TAMPER": tampered,
    "INFRA": infra,
    "starter": starter,
    "mainline": parting,
}

DIAGNOSIS = Diagnosis(
    name="copy_backward_identity",
    text="Each rank has only its own columns' share of dX.\n\nWhich ranks' columns does one input feed?",
    distance=0.0,
)
HINT = Hint(topic="adjoint", level=1, text="Write the forward as a matrix over stacked ranks and transpose it.")
URL = "https://github.com/NVIDIA/Megatron-LM/blob/core_v0.19.2/megatron/core/tensor_parallel/layers.py#L1139-L1147"
EXAM = [
    Asked(id="column", layer="Patch Contract", question="Why does `ColumnParallelLinear` need no forward collective?"),
    Asked(
        id="copy",
        layer="Real Source Path",
        question="When is `copy_to_tensor_model_parallel_region` skipped?",
        where="megatron-core 0.19.2, megatron/core/tensor_parallel/layers.py L1139-L1147",
        link=URL,
    ),
]


def advice_for(report: Report) -> Advice:
    """What the advice would be for an example, without a course on disk."""
    failed = report.verdict in ("FAIL", "TIMEOUT")
    return Advice(
        diagnosis=DIAGNOSIS if report.seal == "patch" and any(test.kind == "value" for test in report.failed) else None,
        topic="adjoint" if failed else "",
        hint=HINT if failed else None,
        exam=EXAM if report.verdict == "PASS" else [],
        repeat_command=f"labs grade {report.lab} --commit {SHA[:7]} --seed {report.seed}",
        mainline_command=f"labs grade l05 --commit {SHA[:7]} --seal mainline" if report.verdict == "PASS" else "",
        attempt=0 if report.verdict == "INFRA" else 2,
        seals={"patch": report.verdict == "PASS", "mainline": False, "exam": False},
    )


def write(root: Path, files: dict[str, str]) -> None:
    for path, text in files.items():
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_text(text, encoding="utf-8")
