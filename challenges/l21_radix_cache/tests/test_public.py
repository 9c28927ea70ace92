"""The public tests: one scene each. A key is a text, one token a character; slots count up as they are given out."""

from grading import lab


def insert(key):
    return {"op": "insert", "key": key}


def match(key):
    return {"op": "match", "key": key}


def run(lab, *ops, page_size=1):
    """Run operations on an empty cache of 64 slots: what each returned with its slots, and the sizes after each."""
    [answer] = lab.run("probe_ops", ops=list(ops), page_size=page_size, policy="lru", pool=64)
    lab.check(not answer["errors"], f"an assertion failed: {answer['errors'][:1]}")
    slots, start, steps = answer["slots"].tolist(), 0, []
    for length, count in zip(answer["len"].tolist(), answer["slots_counts"].tolist(), strict=True):
        steps.append((length, slots[start : start + count]))
        start += count
    return steps, answer["sizes"].reshape(-1, 2).tolist()


@lab.contract(2, 5, topic="insert")
def test_insert_then_match(lab):
    """What was inserted is found again, slot for slot; a second insert of it finds everything there."""
    steps, sizes = run(lab, insert("hello"), match("hello"), match("help"), insert("hello"))
    lab.check(steps[0][0] == 0, "tokens that were cached before the first insert", 0, steps[0][0])
    lab.check(steps[1] == (5, [0, 1, 2, 3, 4]), "length and slots of match('hello')", (5, [0, 1, 2, 3, 4]), steps[1])
    lab.check(steps[2] == (3, [0, 1, 2]), "length and slots of match('help')", (3, [0, 1, 2]), steps[2])
    lab.check(steps[3][0] == 5, "tokens that were cached before the second insert", 5, steps[3][0])
    lab.check(sizes[-1] == [5, 0], "evictable_size, protected_size", [5, 0], sizes[-1])


@lab.contract(2, 4, topic="split")
def test_split_in_the_middle(lab):
    """After a node was split, both its halves and a new branch are found from the root."""
    steps, _ = run(lab, insert("abcdef"), insert("abcxyz"), match("abcdef"), match("abcxyz"), match("ab"))
    lab.check(steps[1][0] == 3, "tokens of 'abcxyz' that were cached", 3, steps[1][0])
    for step, want in ((2, [0, 1, 2, 3, 4, 5]), (3, [0, 1, 2, 9, 10, 11]), (4, [0, 1])):
        lab.check(steps[step] == (len(want), want), f"length and slots of step {step}", (len(want), want), steps[step])


@lab.contract(1, topic="match")
def test_pages(lab):
    """With pages of four tokens only whole pages are stored, and only whole pages that agree are found."""
    steps, sizes = run(lab, insert("aaaabbbbcc"), match("aaaabbbbcc"), match("aaaabbxx"), match("aaa"), page_size=4)
    lab.check(sizes[0] == [8, 0], "evictable_size, protected_size after an insert of 10 tokens", [8, 0], sizes[0])
    lengths = [length for length, _ in steps]
    lab.check(lengths == [0, 8, 4, 0], "what the four calls returned", [0, 8, 4, 0], lengths)


@lab.contract(7, 8, 9, topic="locks")
def test_lock_prevents_eviction(lab):
    """What a request has locked, and all above it, outlives every eviction, and goes when it is unlocked."""
    ops = [insert("system"), insert("system prompt"), {"op": "lock", "key": "system"}, {"op": "evict", "n": 99}]
    steps, sizes = run(lab, *ops, match("system prompt"), {"op": "unlock", "handle": 0}, {"op": "evict", "n": 99})
    lab.check(steps[2][0] == -6, "what inc_lock_ref returned", -6, steps[2][0])
    lab.check(steps[3][0] == 7, "tokens that were evicted under the lock", 7, steps[3][0])
    lab.check(steps[4][0] == 6, "tokens of the prompt that are still there", 6, steps[4][0])
    lab.check(steps[6][0] == 6, "tokens that were evicted after the unlock", 6, steps[6][0])
    want = [[6, 0], [13, 0], [7, 6], [0, 6], [0, 6], [6, 0], [0, 0]]
    lab.check(sizes == want, "evictable_size, protected_size after each step", want, sizes)


@lab.contract(6, 9, topic="evict")
def test_evict_lru(lab):
    """Of two leaves the one that was used longer ago is evicted first, whole."""
    steps, _ = run(lab, insert("1abc"), insert("2abc"), match("1abc"), {"op": "evict", "n": 1}, {"op": "evict", "n": 1})
    lab.check(steps[3] == (4, [4, 5, 6, 7]), "tokens and slots of the first eviction", (4, [4, 5, 6, 7]), steps[3])
    lab.check(steps[4] == (4, [0, 1, 2, 3]), "tokens and slots of the second eviction", (4, [0, 1, 2, 3]), steps[4])
