"""Prints without end and without a newline, and answers right.

lint: PASS or TIMEOUT
wall: PASS or TIMEOUT
defends: P6
"""


def _hole(grad_output, ctx):
    for _ in range(200):
        print("x" * (1 << 20), end="")
    return _right(grad_output, ctx)
