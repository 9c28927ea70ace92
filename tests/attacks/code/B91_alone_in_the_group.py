"""Makes the group say that it has one rank, so that no collective is needed.

lint: FAIL or REFUSED
wall: FAIL
defends: P11 P12
"""


class _Alone:
    def size(self):
        return 1

    def rank(self):
        return 0


def _hole(grad_output, ctx):
    ctx.group = _Alone()
    return _right(grad_output, ctx)
