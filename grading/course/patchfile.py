"""Unified diffs as git writes them."""

import difflib

MISSING = "\n\\ No newline at end of file\n"


def unified(old: str, new: str, path: str) -> str:
    """The diff that makes `new` of `old`, a file at `path`; "" where they are the same."""
    if old == new:
        return ""
    lines = difflib.unified_diff(_lines(old), _lines(new), f"a/{path}", f"b/{path}", n=3)
    body = "".join(line if line.endswith("\n") else line + MISSING for line in lines)
    return f"diff --git a/{path} b/{path}\n{body}"


def _lines(text: str) -> list[str]:
    """Lines with their ends; git knows no end of a line but a line feed."""
    whole = [line + "\n" for line in text.split("\n")]
    whole[-1] = whole[-1][:-1]
    return whole if whole[-1] else whole[:-1]
