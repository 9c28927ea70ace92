"""What is known of a lab's hidden tests: how long each takes, and which of them notice what in which hole."""

from collections import Counter
from collections.abc import Collection, Iterator, Sequence

from grading.course.catalog import Lab
from grading.course.holes import HoleError, text_of
from grading.course.trees import Tree
from grading.judge.report import Report

LEAST_S = 0.01


class Experience:
    """`seconds` of each test on the reference; tries and kills of each in each hole. It grows with every mutant."""

    def __init__(self, seconds: dict[str, float]):
        self.seconds = seconds
        self.tries: Counter[tuple[str, str]] = Counter()
        self.kills: Counter[tuple[str, str]] = Counter()

    def order(self, hole: str) -> list[str]:
        """Test ids, the likeliest kill for its time first."""

        def worth(test: str) -> float:
            chance = (self.kills[hole, test] + 0.5) / (self.tries[hole, test] + 1)
            return chance / max(self.seconds[test], LEAST_S)

        return sorted(self.seconds, key=worth, reverse=True)

    def learn(self, hole: str, ran: Sequence[str], failed: Collection[str]) -> None:
        self.tries.update((hole, test) for test in ran)
        self.kills.update((hole, test) for test in failed)


def experience(
    lab: Lab, reference: Tree, references: Sequence[Report], mistakes: Sequence[tuple[Tree, Report]]
) -> Experience:
    """From gradings of the hidden tests: of the reference, which passed each time, and of mistakes."""
    times: dict[str, list[float]] = {}
    for test in (test for report in references for test in report.tests):
        times.setdefault(test.id, []).append(test.seconds)
    known = Experience({test: min(seconds) for test, seconds in times.items()})
    for tree, report in mistakes:
        for hole in _changed(lab, reference, tree):
            known.learn(hole, [test.id for test in report.tests], [test.id for test in report.failed])
    return known


def _changed(lab: Lab, reference: Tree, tree: Tree) -> Iterator[str]:
    for hole in [*lab.holes, *lab.drop]:
        path, _, name = hole.partition("::")
        if tree[path] != reference[path] and _text(tree[path], name) != _text(reference[path], name):
            yield hole


def _text(source: bytes, name: str) -> str:
    """The definition; nothing where it is not to be found."""
    try:
        return text_of(source.decode(), name)
    except HoleError:
        return ""
