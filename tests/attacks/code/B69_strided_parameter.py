"""Control: the right answer as a parameter, non-contiguous, part of a graph.

lint: PASS
wall: PASS
defends: P11
"""


def _hole(grad_output, ctx):
    right = _right(grad_output, ctx)
    strided = right.transpose(0, 2).contiguous().transpose(0, 2)
    with torch.enable_grad():
        return torch.nn.Parameter(strided) * 1
