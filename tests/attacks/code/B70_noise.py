"""Control: the right answer after a warning, a hundred printed lines, and most of the time limit.

lint: PASS
wall: PASS
defends: P6
"""

import warnings

from torch.utils.benchmark import timer


def _hole(grad_output, ctx):
    begun = timer()
    warnings.warn("this may take a while", RuntimeWarning, stacklevel=2)
    for number in range(100):
        print(f"step {number} of 100")
    while timer() - begun < 1.2:  # of 2 seconds, on a machine that others use too
        pass
    return _right(grad_output, ctx)
