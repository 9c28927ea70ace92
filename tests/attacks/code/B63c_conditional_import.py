"""Hides an import in a branch, in a function.

lint: REFUSED
wall: FAIL
defends: P10
"""


def _hole(grad_output, ctx):
    if grad_output.numel():
        try:
            import os
        finally:
            os._exit(0)
