"""What a job may say about how its tests are gone through: in which order, how far, and with which deadlines."""

import random
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import pytest

    from grading.judge.stage import Stage


class Order:
    """pytest's side of a job's optional keys.

    `shuffled`: an order drawn by the grading's seed. `first`: test ids in the order to run them in; what they do not
    name comes after them, or with `only` not at all. `deadlines`: test id -> seconds of one case of its probes, in
    place of the lab's `probe_s`. (`stop`, the end after the first failure, is pytest's own; `wall_s`, `alone` and
    `timeouts` are the stage's.)
    """

    def __init__(self, stage: "Stage", job: dict[str, Any]):
        self.stage, self.job = stage, job
        self.probe_s = stage.limits.probe_s

    def pytest_collection_modifyitems(self, items: list["pytest.Item"]) -> None:
        from grading.judge.plugin import test_id

        if self.job.get("shuffled"):
            random.Random(self.job["seed"]).shuffle(items)
        place = {name: number for number, name in enumerate(self.job.get("first", ()))}
        if self.job.get("only"):
            items[:] = [item for item in items if test_id(item) in place]
        items.sort(key=lambda item: place.get(test_id(item), len(place)))

    def pytest_runtest_setup(self, item: "pytest.Item") -> None:
        """The jails of this stage share its limits, so that this reaches the probes."""
        from grading.judge.plugin import test_id

        self.stage.limits.probe_s = self.job.get("deadlines", {}).get(test_id(item), self.probe_s)
