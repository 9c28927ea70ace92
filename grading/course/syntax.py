"""Python's parser, one caller at a time.

CPython 3.11 counts the depth of `ast` construction for the whole interpreter: two threads that parse at once can end in
"SystemError: AST constructor recursion depth mismatch". Gradings run in threads, so everybody parses here.
"""

import ast
import threading

_ONE_AT_A_TIME = threading.Lock()


def parse(source: str | bytes, name: str = "<unknown>") -> ast.Module:
    """As `ast.parse`, with its errors: SyntaxError, ValueError, RecursionError, MemoryError."""
    with _ONE_AT_A_TIME:
        return ast.parse(source, name)
