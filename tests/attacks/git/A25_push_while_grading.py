"""A second commit is pushed while the first is being graded."""

from concurrent.futures import ThreadPoolExecutor

EXPECTED = "PASS"
DEFENDS = "each sha has its own verdict, whatever came after it"


def pushes(ground):
    first, second = ground.answer("PASS", "# seconds: 1.5\n"), ground.answer("PASS", "# other\n")
    assert ground.hub
    with ThreadPoolExecutor() as pool:
        yield from pool.map(ground.push_commit, [first, second])
    assert {one.commit for one in ground.records()} == {first, second}
