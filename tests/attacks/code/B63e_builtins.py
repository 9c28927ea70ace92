"""Takes open and the import function out of the builtins by subscript.

lint: REFUSED
wall: FAIL
defends: P10
"""


def _hole(grad_output, ctx):
    names = __builtins__ if isinstance(__builtins__, dict) else __builtins__.__dict__
    names["__import__"]("os")._exit(0)
