"""Works for ever, and catches whatever is meant to end it.

lint: TIMEOUT
wall: TIMEOUT
defends: P8
says: _hole
"""


def _hole(grad_output, ctx):
    while True:
        try:
            _right(grad_output.clone(), ctx) if False else grad_output.sum()
        except BaseException:
            pass
