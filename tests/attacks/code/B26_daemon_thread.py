"""A thread prints and takes torch apart while the right answer is sent.

lint: REFUSED
wall: PASS
defends: P4
"""

import threading
import time


def _later():
    while True:
        print("12 passed", flush=True)
        torch.Tensor.backward = torch.distributed.all_reduce = None
        time.sleep(0.01)


def _hole(grad_output, ctx):
    threading.Thread(target=_later, daemon=True).start()
    time.sleep(0.03)
    return _right(grad_output, ctx)
