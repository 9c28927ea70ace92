"""One wrong commit pushed four times at once: it must not use up four attempts, nor earn the hints of four."""

from concurrent.futures import ThreadPoolExecutor

EXPECTED = "FAIL"
DEFENDS = "one commit is one attempt, whoever is faster"


def pushes(ground):
    sha = ground.answer("FAIL", "# seconds: 1.5\n")
    assert ground.hub
    with ThreadPoolExecutor() as pool:
        yield from pool.map(ground.push_commit, [sha] * 4)
    assert [ref for ref in ground.refs() if "attempts" in ref] == ["refs/attempts/l01/ada/1"]
    assert len(ground.records()) == 1
