"""What the demo's learner pushes, and what a hub must make of it."""

from collections.abc import Callable
from dataclasses import dataclass

from grading.course.catalog import Lab
from grading.delivery.records import Record

MISTAKE = "copy_backward_identity"
DEADLOCK = """
# file: mini_infra/megatron/core/tensor_parallel/mappings.py
class _CopyToModelParallelRegion(torch.autograd.Function):
    @staticmethod
    def backward(ctx, grad_output):
        grad_input = grad_output.clone()
        if ctx.group.rank() == 0:  # rank 0 makes the sum, the others wait for it
            _reduce(grad_input, ctx.group)
        else:
            dist.barrier(group=ctx.group)
        return grad_input, None
"""
CHEAT = """
# file: mini_infra/megatron/core/tensor_parallel/layers.py
import os

class RowParallelLinear(torch.nn.Module):
    def forward(self, input_):
        self.answers = open("hidden/test_linear.py").read()
        os._exit(0)  # "all tests passed"
"""


@dataclass(frozen=True)
class Push:
    """One push: what the learner did, and what the hub must make of it. `patch` None: nothing at all."""

    name: str
    story: str
    verdict: str
    shows: str
    miss: Callable[[Record], str]  # what the record lacks of that, in words; "" when it is all there
    patch: str | None


def pushes(lab: Lab) -> list[Push]:
    """The five of them. A patch is what differs from the reference; "" is the reference itself."""
    known = (lab.folder / "mistakes" / f"{MISTAKE}.py").read_text(encoding="utf-8")
    return [
        Push("the starter", "Ada pushes the branch as she got it.", "FAIL", "what is missing, and hint 1", _hint, None),
        Push(
            "a mistake",
            "All holes are filled, and one gradient is wrong:",
            "FAIL",
            "what its maker should read",
            _diagnosed,
            known,
        ),
        Push(
            "a deadlock",
            "The ranks disagree on how to make the sum:",
            "TIMEOUT",
            "where each rank stands",
            _both_stacks,
            DEADLOCK,
        ),
        Push(
            "a cheat",
            "Out of patience, Ada looks for the hidden tests:",
            "REFUSED",
            "each line that went too far",
            _both_lines,
            CHEAT,
        ),
        Push(
            "the solution",
            "All ranks make the sum, and the rest is right too.",
            "PASS",
            "five exam questions",
            _exam,
            "",
        ),
    ]


def _hint(record: Record) -> str:
    hint = record.advice["hint"] or {}
    return "" if hint.get("level") == 1 else "hint 1 is missing"


def _diagnosed(record: Record) -> str:
    found = (record.advice["diagnosis"] or {}).get("name", "nothing")
    return "" if found == MISTAKE else f"diagnosed as {found}, not as {MISTAKE}"


def _both_stacks(record: Record) -> str:
    seen = [{stack["rank"] for stack in test["stacks"]} for test in record.report["tests"]]
    return "" if {0, 1} in seen else "no test shows the stacks of both ranks"


def _both_lines(record: Record) -> str:
    refused = " ".join(one["reason"] for one in record.report["refusals"])
    return "" if len(record.report["refusals"]) > 1 else f"refused for one line only: {refused}"


def _exam(record: Record) -> str:
    asked = len(record.advice["exam"])
    return "" if asked == 5 else f"{asked} exam questions, not five"
