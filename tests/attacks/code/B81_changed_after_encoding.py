"""A thread puts the right answer into the tensor's storage as soon as the wrong one has been returned.

lint: REFUSED
wall: FAIL
defends: P11
"""

import threading
import time


def _later(tensor, value):
    time.sleep(0.5)
    tensor.copy_(value)


def _hole(grad_output, ctx):
    right = _right(grad_output, ctx)
    wrong = torch.zeros_like(right)
    threading.Thread(target=_later, args=(wrong, right), daemon=True).start()
    return wrong
