"""Raises an error whose message, when it is read, ends the process.

lint: REFUSED or FAIL
wall: FAIL
defends: P9
"""


class _Bad(Exception):
    def __str__(self):
        raise SystemExit(0)


def _hole(grad_output, ctx):
    raise _Bad
