"""Parsing in threads: what CPython 3.11's own ast.parse gets wrong now and then."""

import ast
import sys
from concurrent.futures import ThreadPoolExecutor

from grading.course.syntax import parse

NESTED = "x = " + "(" * 25 + "1" + " + 1)" * 25 + "\n"


def test_threads_may_parse_at_once():
    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        with ThreadPoolExecutor(4) as pool:
            trees = list(pool.map(parse, [NESTED * 20] * 60))
    finally:
        sys.setswitchinterval(interval)
    assert {len(tree.body) for tree in trees} == {20}
    assert all(isinstance(tree, ast.Module) for tree in trees)
