"""Gradings share processes, but for one that broke off."""

from types import SimpleNamespace

import pytest

from grading.judge import shared


@pytest.fixture
def made(monkeypatch):
    """The stand-ins for judges, in the order in which they were started."""
    made = []

    def start(settings, with_reference, jailed):
        made.append(SimpleNamespace(broken=False, closed=0))
        made[-1].close = lambda one=made[-1]: vars(one).update(closed=one.closed + 1)
        return made[-1]

    monkeypatch.setattr(shared, "Judge", start)
    return made


def test_a_process_that_broke_off_is_replaced(tiny, made):
    used = []

    def job(breaks):
        with judges.lend(tiny.lab("l01")) as judge:
            used.append(made.index(judge))
            judge.broken = breaks

    with shared.Judges(jailed=False, at_once=1) as judges:
        judges.map(job, [False, True, False, False])
        with pytest.raises(KeyboardInterrupt), judges.lend(tiny.lab("l01")):
            raise KeyboardInterrupt
        judges.map(job, [False])
    assert used == [0, 0, 1, 1, 2]
    assert [one.closed for one in made] == [1, 1, 1]


def test_labs_that_want_the_same_jail_share_and_another_kind_ends_the_idle(tiny, made):
    one, two = tiny.lab("l01"), tiny.lab("l02")
    slow = two.model_copy(update={"limits": two.limits.model_copy(update={"probe_s": 9})})
    large = two.model_copy(update={"limits": two.limits.model_copy(update={"memory_mb": 9000})})
    with shared.Judges(jailed=False, at_once=2) as judges:
        for lab in (one, two, slow, large):
            with judges.lend(lab):
                pass
        assert [judge.closed for judge in made] == [1, 0]
