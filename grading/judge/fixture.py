"""The `lab` fixture: how a hidden test asks for probes and times them, and what it may ask about the last run."""

import contextlib
import hashlib
import random
import time
from collections.abc import Callable, Iterator
from typing import Any

from grading import lab as front
from grading.judge import compare
from grading.judge.errors import Failure, InfraError, NotRun
from grading.judge.events import Event, claimed_nbytes, events_of
from grading.judge.reading import Reading
from grading.judge.stage import Stage
from grading.judge.stopwatch import Stopwatch, machine_lock
from grading.judge.world import Outcome, Request

WIRE_SLACK_NBYTES = 64 << 10


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

    def upstream(self, probe: str, **options: Any) -> list[Any]:
        """A probe of the Mainline seal (`mainline.NAME`) on upstream's own code, in a jail without the learner's."""
        try:
            return self._ask("reference", probe, **options)
        except Failure as failure:
            raise InfraError(f"upstream's side of {probe}: {failure.message}") from None

    def agrees(self, got: Any, upstream: Any, inputs: dict[str, Any], tol: float = 0.0, what: str = "") -> None:
        """`close`, and a failure says on which inputs upstream (expected) and the patch (got) part."""
        try:
            compare.close(got, upstream, tol, what)
        except Failure as failure:
            given = ", ".join(f"{name} = {compare.show(value)}" for name, value in inputs.items())
            message = f"the patch parts from upstream: {failure.message}. Inputs: {given}"
            raise Failure(failure.kind, message, **failure.details) from None

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
        with machine_lock(exclusive=self._stage.alone):
            self._last = self._stage.sandbox(side).ask(request)
        if side == "submission":
            self._keep_output(self._last)
        verdicts = Reading(self._stage, side, request, self._last, may_die or {}).answers()
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
        path = sandbox.keep_folder()
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
        with sandbox.timed(request) as world:
            seconds = Stopwatch(world, digest, rtol, self.random).run(inputs, reps, enough_s)
        if seconds is None:
            outcome = Outcome([world.rank], timeout=not world.rank.closed and not world.rank.answers[-1].arrived)
            Reading(self._stage, on, request, outcome, {}).answers()
            raise Failure("value", f"{probe} did not return a number", got=compare.show(world.rank.answers[-1].value))
        return seconds


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
