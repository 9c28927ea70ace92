"""The `lab` fixture: how a hidden test asks for probes, and how each kind of bad ending becomes a Failure."""

import contextlib
import fcntl
import hashlib
import os
import random
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from grading import lab as front
from grading.course.catalog import Limits
from grading.judge import compare
from grading.judge.errors import Failure, NotRun
from grading.judge.events import Event, claimed_nbytes, events_of
from grading.judge.stacks import frame, read_stack
from grading.judge.world import Outcome, Rank, Request, Sandbox, signal_name
from grading.sandbox import jail

TIME_S = 10.0  # for one side of a ratio
WIRE_SLACK_NBYTES = 64 << 10
HOPELESS = 10  # a first repetition this many times over the bar will not come down to it


@dataclass
class Stage:
    """The jails of one grading: the submission's and, once asked for, the reference's, each started once."""

    limits: Limits
    trees: dict[str, Path]  # "submission", "reference"
    packages: list[str]
    preload: list[str]
    files: bool
    env: dict[str, str]
    jailed: bool
    seed: int
    engine: Path = Path(__file__).parents[1]
    sandboxes: dict[str, Sandbox] = field(default_factory=dict)
    deadline: float = float("inf")

    def sandbox(self, side: str) -> Sandbox:
        if side not in self.sandboxes:
            spec = jail.JailSpec(self.trees[side], self.engine, self.packages, self.limits, self.files, self.env)
            self.sandboxes[side] = Sandbox(spec, self.preload, self.jailed)
        return self.sandboxes[side]

    def close(self) -> None:
        for sandbox in self.sandboxes.values():
            sandbox.close()


class Lab:
    """One test's view of the stage. Shapes and units of each method: docs/author.md."""

    contract = staticmethod(front.contract)
    guard = staticmethod(front.guard)
    close = staticmethod(compare.close)
    check = staticmethod(compare.check)
    Error = front.Error
    Died = front.Died

    def __init__(self, stage: Stage, test_id: str):
        import torch

        drawn = int.from_bytes(hashlib.sha256(f"{stage.seed}:{test_id}".encode()).digest()[:7])
        self.random = random.Random(drawn)
        self.generator = torch.Generator().manual_seed(drawn)
        self.notes: list[str] = []
        self.output = ""
        self._stage = stage
        self._last: Outcome | None = None

    @property
    def jailed(self) -> bool:
        return self._stage.jailed

    def run(self, probe: str, **options: Any) -> list[Any]:
        """Call `probe` on the submission: a list by rank, of lists by case when `cases` is given.

        ranks, cases=[{…}], by_rank=[{…}]·ranks, group, errors, may_die={rank: signal}, env; the rest are inputs
        of every rank. Raises Failure when a rank fails in a way that was not asked for.
        """
        return self._ask("submission", probe, **options)

    def reference(self, probe: str, **options: Any) -> list[Any]:
        """The same on the reference tree, in a jail of its own: a second opinion, never the only oracle."""
        return self._ask("reference", probe, **options)

    def _ask(
        self,
        side: str,
        probe: str,
        ranks: int = 1,
        cases: list[dict[str, Any]] | None = None,
        by_rank: list[dict[str, Any]] | None = None,
        group: bool = True,
        errors: bool = False,
        may_die: dict[int, str] | None = None,
        env: dict[str, str] | None = None,
        **common: Any,
    ) -> list[Any]:
        if time.monotonic() > self._stage.deadline:
            raise NotRun
        inputs = [_by_rank(case, ranks, by_rank, common) for case in (cases if cases is not None else [{}])]
        request = Request(probe, ranks, inputs, group, env, frozenset(may_die or ()), errors)
        with machine_lock(exclusive=False):
            self._last = self._stage.sandbox(side).ask(request)
        self._keep_output(self._last)
        verdicts = _Reading(self._stage, side, request, self._last, may_die or {}).answers()
        return verdicts if cases is not None else [answers[0] for answers in verdicts]

    def _keep_output(self, outcome: Outcome) -> None:
        for rank in outcome.ranks:
            self.output += bytes(rank.output[: 4000 - len(self.output)]).decode(errors="replace")

    def records(self) -> list[list[Event]]:
        """By rank: the events of the last run, in order."""
        return [events_of(rank) for rank in self._last.ranks] if self._last else []

    def seen_bytes(self) -> int | None:
        """Bytes that crossed the jail's loopback during the last run, read from outside; None without a jail."""
        return self._last.wire_nbytes if self._last else None

    def claimed_bytes(self) -> int:
        """Bytes that the recorded posts of the last run must have put on the wire, all ranks together."""
        return claimed_nbytes(self.records())

    def wire_agrees(self) -> None:
        """The records and the wire must tell the same story: claimed ≤ seen ≤ 1.2·claimed + 64 KiB."""
        claimed, seen = self.claimed_bytes(), self.seen_bytes()
        if seen is not None:
            agreed = claimed <= seen <= 1.2 * claimed + WIRE_SLACK_NBYTES
            compare.check(
                agreed, "the recorded messages are not what crossed the wire", f"{claimed:,} bytes", f"{seen:,}"
            )

    def note(self, *features: str) -> None:
        """Features of this test's outcome that tell mistakes apart; they join the fingerprint."""
        self.notes += features

    @contextlib.contextmanager
    def folder(self) -> Iterator[str]:
        """A folder in the jail that outlives a probe, for the probes of one test (`files: shared`)."""
        sandbox = self._stage.sandbox("submission")
        path = sandbox.keep_folder(f"kept-{sandbox.next_id()}")
        try:
            yield path
        finally:
            sandbox.drop_folder(path)

    def collect(self, folder: str) -> dict[str, bytes]:
        """The plain files of a kept folder, read when the ranks that wrote them are dead."""
        return self._stage.sandbox("submission").collect(folder)

    def time(
        self,
        probe: str,
        reps: int,
        on: str = "submission",
        digest: Callable[[float], float] | None = None,
        rtol: float = 1e-6,
        enough_s: float | None = None,
        **inputs: Any,
    ) -> float:
        """Seconds of the best of `reps` calls `probe(**inputs, lab_scalar=x) -> digest`, on the judge's clock.

        Each call gets a fresh x; with `digest`, what comes back must be digest(x) within rtol. With `enough_s` the
        loop ends as soon as the bar is met, or when the first call is so slow that it will not be.
        """
        request = Request(probe, 1, [[inputs]], timed=True)
        sandbox = self._stage.sandbox(on)
        sandbox.wait_ready()
        with machine_lock(exclusive=True):
            world = sandbox.timed(request)
            try:
                seconds = _Stopwatch(world, time.monotonic() + TIME_S, digest, rtol, self.random).run(
                    inputs, reps, enough_s
                )
            finally:
                world.close()
        if seconds is None:
            outcome = Outcome([world.rank], timeout=not world.rank.closed and not world.rank.answers[-1].arrived)
            _Reading(self._stage, on, request, outcome, {}).answers()
            raise Failure("value", f"{probe} did not return a number", got=compare.show(world.rank.answers[-1].value))
        return seconds


class _Stopwatch:
    def __init__(
        self, world: Any, deadline: float, digest: Callable[[float], float] | None, rtol: float, draw: random.Random
    ):
        self.world, self.deadline, self.digest, self.rtol, self.draw = world, deadline, digest, rtol, draw

    def run(self, inputs: dict[str, Any], reps: int, enough_s: float | None) -> float | None:
        """The best time, or None when the rank failed or the deadline passed before the first digest."""
        if not self.world.start(inputs, self.deadline):
            self.world.stacks()
            return None
        best = first = None
        for _ in range(reps):
            scalar = self.draw.uniform(0.5, 1.5)
            lap = self.world.repeat(scalar, self.deadline)
            if lap is None or not isinstance(lap[1], float):
                return best
            self._check(lap[1], scalar)
            best = min(best or lap[0], lap[0])
            first = first or lap[0]
            if enough_s is not None and (best <= enough_s or first > HOPELESS * enough_s):
                break
        return best

    def _check(self, got: float, scalar: float) -> None:
        if self.digest is not None:
            want = self.digest(scalar)
            compare.close(got, want, self.rtol, "the timed call's checksum")


class _Reading:
    """Turns what the ranks sent into values, Error and Died objects, or the first Failure worth telling."""

    def __init__(self, stage: Stage, side: str, request: Request, outcome: Outcome, may_die: dict[int, str]):
        self.stage, self.request, self.outcome, self.may_die = stage, request, outcome, may_die
        self.source = stage.trees[side]
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
        message = "; ".join(stack.says for stack in stacks)
        raise Failure(
            f"timeout@{function}", f"no answer within {self.stage.limits.probe_s} s: {message}", stacks=stacks
        )

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

    def _values(self, rank: Rank) -> list[Any]:
        values: list[Any] = []
        for answer in rank.answers:
            if answer.error is not None:
                kind, text, frames = self._error(answer.error)
                place = (frames[-1].path, frames[-1].line) if frames else ("", 0)
                bases = tuple(str(base)[:100] for base in answer.error.get("bases", ())[:20])
                values.append(front.Error(kind, bases, text, *place))
            elif answer.arrived:
                values.append(answer.value)
            else:
                values.append(front.Died(signal_name(rank.exit_code)))
        return values


def _by_rank(
    case: dict[str, Any], ranks: int, by_rank: list[dict[str, Any]] | None, common: dict[str, Any]
) -> list[dict[str, Any]]:
    """The inputs of each rank in one case: what all have in common, then the rank's own, then the case's."""
    own = by_rank or [{}] * ranks
    case_own = case.get("by_rank", [{}] * ranks)
    if len(own) != ranks or len(case_own) != ranks:
        raise ValueError(f"by_rank needs one dict for each of {ranks} ranks")
    shared = {key: value for key, value in case.items() if key != "by_rank"}
    return [common | own[rank] | shared | case_own[rank] for rank in range(ranks)]


@contextlib.contextmanager
def machine_lock(exclusive: bool) -> Iterator[None]:
    """Keep other gradings on this machine out while a time is taken; ordinary probes share the lock."""
    path = Path(tempfile.gettempdir()) / f"labs-clock-{os.getuid()}"
    fd = os.open(path, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
    try:
        fcntl.flock(fd, fcntl.LOCK_EX if exclusive else fcntl.LOCK_SH)
        yield
    finally:
        os.close(fd)
