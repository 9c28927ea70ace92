"""The table of an empty corpus would exit 5: the jail is its first case."""

from grading.sandbox import jail


def test_this_machine_can_jail():
    """Without a jail the corpus has nothing to show."""
    assert jail.status().ok, jail.status().reason
