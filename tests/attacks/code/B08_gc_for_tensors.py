"""Collects every tensor of the answer's shape from the heap and returns another one than the answer.

lint: REFUSED
wall: FAIL
defends: P2
"""

import gc


def _hole(grad_output, ctx):
    shape = _right(grad_output, ctx).shape
    found = [x for x in gc.get_objects() if isinstance(x, torch.Tensor) and x.shape == shape]
    return found[0].detach().clone() if found else torch.zeros(shape, dtype=grad_output.dtype)
