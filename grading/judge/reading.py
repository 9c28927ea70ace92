"""From what the ranks sent to what a test gets: values, Error and Died objects, or the first Failure worth telling."""

from pathlib import Path
from typing import Any

from grading import lab as front
from grading.judge.errors import Failure
from grading.judge.rank import Rank, signal_name
from grading.judge.stacks import frame, read_stack
from grading.judge.stage import Stage
from grading.judge.world import Outcome, Request


class Reading:
    """One outcome, read in the light of what the request allowed."""

    def __init__(self, stage: Stage, side: str, request: Request, outcome: Outcome, may_die: dict[int, str]):
        self.stage, self.request, self.outcome, self.may_die = stage, request, outcome, may_die
        self.source: Path = stage.trees[side]
        self.tree = stage.sandboxes[side].tree

    def answers(self) -> list[list[Any]]:
        if self.outcome.tamper:
            raise Failure("tamper", self.outcome.tamper)
        if self.outcome.timeout:
            self._time_out()
        for rank in self.outcome.ranks:
            self._raise_failure(rank)
        for rank in self.outcome.ranks:
            if not rank.closed and not all(answer.arrived for answer in rank.answers):
                raise Failure(
                    "error:peer",
                    f"rank {rank.number} was still waiting when its peer had failed",
                    stacks=self._stacks(),
                )
        return [self._values(rank) for rank in self.outcome.ranks]

    def _time_out(self) -> None:
        stacks = self._stacks()
        stuck = [stack for stack, rank in zip(stacks, self.outcome.ranks, strict=True) if not rank.answers[-1].arrived]
        function = next((stack.frames[-1].function for stack in stuck if stack.frames), "?")
        raise Failure(f"timeout@{function}", f"no answer within {self.stage.limits.probe_s:g} s", stacks=stacks)

    def _stacks(self) -> list[Any]:
        return [read_stack(rank, self.tree, self.source) for rank in self.outcome.ranks]

    def _raise_failure(self, rank: Rank) -> None:
        answer = rank.answers[-1]
        if answer.refused is not None:
            raise Failure("type", f"rank {rank.number}: {answer.refused}")
        if answer.error is not None:
            kind, text, frames = self._error(answer.error)
            if not self.request.errors or kind == "NotImplementedError":
                where = f"rank {rank.number}: " if self.request.ranks > 1 else ""
                raise Failure(f"error:{kind}", f"{where}{kind}: {text}", frames=frames, waiting=self._waiting())
        if rank.closed and not answer.arrived and rank.number not in self.may_die:
            raise self._crash(rank)

    def _waiting(self) -> list[Any]:
        pending = any(not rank.answers[-1].arrived for rank in self.outcome.ranks)
        return self._stacks() if pending else []

    def _crash(self, rank: Rank) -> Failure:
        if self.outcome.oom:
            return Failure(
                "crash:memory", f"rank {rank.number} went over {self.stage.limits.memory_mb} MB and was killed"
            )
        end = signal_name(rank.exit_code) or "no word"
        return Failure(f"crash:{end}", f"rank {rank.number} ended with {end} before it answered")

    def _error(self, error: dict[str, Any]) -> tuple[str, str, list[Any]]:
        """A rank's account of its exception, reduced to text of known length."""
        kind = str(error.get("type"))[:100]
        given = error.get("frames")
        frames = [
            frame(str(item.get("path")), int(item.get("line")), str(item.get("function")), self.source)
            for item in (given if isinstance(given, list) else [])[-20:]
            if isinstance(item, dict) and isinstance(item.get("line"), int)
        ]
        return kind, str(error.get("message"))[:4000], frames

    def _bases(self, error: dict[str, Any]) -> tuple[str, ...]:
        given = error.get("bases")
        return tuple(str(base)[:100] for base in (given if isinstance(given, list) else [])[:20])

    def _values(self, rank: Rank) -> list[Any]:
        values: list[Any] = []
        for answer in rank.answers:
            if answer.error is not None:
                kind, text, frames = self._error(answer.error)
                place = (frames[-1].path, frames[-1].line) if frames else ("", 0)
                values.append(front.Error(kind, self._bases(answer.error), text, *place))
            elif answer.arrived:
                values.append(answer.value)
            else:
                values.append(front.Died(signal_name(rank.exit_code)))
        return values
