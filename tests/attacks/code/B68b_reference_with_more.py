"""Control: the reference with a helper, a dataclass, comments, type hints and a print.

lint: PASS
wall: PASS
defends: P9
"""

from dataclasses import dataclass, field


@dataclass
class _Plan:
    """What to do with the gradient."""

    group: ProcessGroup
    steps: list[str] = field(default_factory=list)  # for the print


def _halves(tensor: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    return tensor / 2, tensor / 2


def _hole(grad_output: torch.Tensor, ctx) -> torch.Tensor:
    plan = _Plan(ctx.group, ["sum", "cut"])
    print(plan)
    first, second = _halves(_right(grad_output, ctx))
    return first + second
