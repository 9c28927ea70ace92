"""Enters a torch function mode that answers everything with zeros and never leaves it; its own answer is right.

lint: REFUSED
wall: PASS or FAIL
defends: P1 P11
"""

from torch.overrides import TorchFunctionMode


class _Zeros(TorchFunctionMode):
    def __torch_function__(self, function, types, args=(), kwargs=None):
        out = function(*args, **(kwargs or {}))
        return torch._C._VariableFunctions.zeros_like(out) if isinstance(out, torch.Tensor) else out


def _hole(grad_output, ctx):
    right = _right(grad_output, ctx)
    _Zeros().__enter__()
    return right
