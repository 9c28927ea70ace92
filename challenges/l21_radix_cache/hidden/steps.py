"""Scripts sent, answers read: what the hidden tests share."""

import oracle

WORDS = {
    "len": "what the call returned",
    "slots": "the slots",
    "sizes": "evictable_size, protected_size",
    "total": "the tokens in the tree, counted",
    "leaves": "the last slots of the evictable leaves",
}
NODE = ("parent", "tokens", "slots", "children", "locks", "hits", "leaf")
PATHS, ALL = ("len", "slots", "sizes"), ("len", "slots", "sizes", "total", "leaves")


def unpack(lab, answer: dict, *names: str) -> list[list[list[int]]]:
    """The named columns, each as one list a step."""
    columns = []
    for name in names:
        flat, counts, start, column = answer[name].tolist(), answer[f"{name}_counts"].tolist(), 0, []
        for count in counts:
            column.append(flat[start : start + count])
            start += count
        lab.check(
            start == len(flat) and min(counts, default=0) >= 0, f"column {name} is cut into steps", len(flat), start
        )
        columns.append(column)
    return columns


def nodes_of(column: list[int]) -> list[dict[str, int]]:
    """The rows of `describe`, by name."""
    return [dict(zip(NODE, column[start : start + 7], strict=True)) for start in range(0, len(column), 7)]


def in_words(op: dict) -> str:
    """An operation as a reader writes it: insert('abba', lora)."""
    key = op.get("key")
    what = str(op.get("n", op.get("handle"))) if key is None else repr(key)
    return f"{op['op']}({what}{', ' + op['extra_key'] if op.get('extra_key') else ''})"


def compare(lab, answer: dict, want: list[dict], ops: list[dict], names=PATHS, audit: int = 1, note: str = "") -> None:
    """Every step of a script as the oracle has it; fails at the first one that is not."""
    lab.check(not answer["errors"], f"an assertion failed: {answer['errors'][:1]}")
    columns = dict(zip(names, unpack(lab, answer, *names), strict=True))
    for number, (op, step) in enumerate(zip(ops, want, strict=True)):
        for name in names:
            if name in ("total", "leaves") and number % audit:
                continue
            got = columns[name][number // audit if name in ("total", "leaves") else number]
            if got != step[name]:
                if len(ops) < 100:  # where a random script breaks first is chance, and no mark of the mistake
                    lab.note(f"{note}{op['op']}.{name}")
                lab.check(False, f"step {number}, {in_words(op)}: {WORDS[name]}", step[name], got)


def run_scripts(
    lab, *scripts: list[dict], page_size: int = 1, policy: str = "lru", names=PATHS, audit: int = 1
) -> list:
    """Run scripts on the submission, each on a cache of its own, compare them with the oracle, return the answers."""
    cases = [{"ops": ops, "pool": 1 + sum(len(op.get("key", "")) for op in ops)} for ops in scripts]
    [answers] = lab.run("probe_ops", cases=cases, page_size=page_size, policy=policy, audit=audit)
    for number, (ops, answer) in enumerate(zip(scripts, answers, strict=True)):
        compare(lab, answer, oracle.expected(ops, page_size, policy, audit), ops, names, audit, f"script {number} ")
    return answers


def insert(key: str, **more) -> dict:
    return {"op": "insert", "key": key, **more}


def match(key: str, **more) -> dict:
    return {"op": "match", "key": key, **more}


def lock(key: str, **more) -> dict:
    return {"op": "lock", "key": key, **more}


def unlock(handle: int) -> dict:
    return {"op": "unlock", "handle": handle}


def evict(n: int) -> dict:
    return {"op": "evict", "n": n}


def word(lab, length: int) -> str:
    """Tokens without a repetition."""
    return "".join(lab.random.sample("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ", length))
