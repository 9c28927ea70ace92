"""Returns an object whose pickle would run a command.

lint: REFUSED
wall: FAIL
defends: P7
"""

import os
import sys


class _Bomb:
    def __reduce__(self):
        return os.system, ("touch /tmp/pickled",)


def _hole(grad_output, ctx):
    sys.modules["probes"].REGIONS["seq_gather"] = _Bomb
    frame = sys._getframe()
    while "answer" not in frame.f_code.co_varnames and frame.f_back:
        frame = frame.f_back
    sys.modules["probes"].region = lambda **inputs: _Bomb()
    return torch.zeros_like(_right(grad_output, ctx))
