"""Answers with a view of its input.

lint: FAIL
wall: FAIL
defends: P11
"""


def _hole(grad_output, ctx):
    return grad_output[: len(grad_output) // 2]
