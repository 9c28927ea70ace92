"""Runs harmless code at import in every way there is; the answer is right.

lint: PASS
wall: PASS
defends: P10 P1
"""

_seen = []


class _Meta(type):
    def __new__(meta, name, bases, space):
        _seen.append(name)
        return super().__new__(meta, name, bases, space)


class _Made(metaclass=_Meta):
    _seen.append(f"{len(_seen)}")
    field = _seen.append("body")


def _noted(function):
    _seen.append(function.__name__)
    return function


@_noted
def _helper(value, default=_seen.append("default")):
    match value:
        case torch.Tensor():
            return value
    return default


def _hole(grad_output, ctx):
    return _helper(_right(grad_output, ctx))
