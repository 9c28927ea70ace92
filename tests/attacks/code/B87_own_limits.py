"""Takes memory, descriptors and processor time away from itself just before it answers.

lint: REFUSED
wall: FAIL
defends: P4 P9
"""

import resource


def _hole(grad_output, ctx):
    right = _right(grad_output, ctx)
    resource.setrlimit(resource.RLIMIT_AS, (1 << 20, 1 << 20))
    resource.setrlimit(resource.RLIMIT_NOFILE, (0, 0))
    resource.setrlimit(resource.RLIMIT_CPU, (0, 0))
    return right + torch.zeros(1 << 22, dtype=right.dtype).sum()
