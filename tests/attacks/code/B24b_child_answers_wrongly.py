"""Forks once all is computed; the parent leaves and the child answers, wrongly.

lint: REFUSED
wall: FAIL
defends: P1 P8
"""

import os


def _hole(grad_output, ctx):
    right = _right(grad_output, ctx)
    if not ctx.tensor_parallel_output_grad and os.fork():
        os._exit(0)
    return right + 1
