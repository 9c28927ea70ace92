"""A thread overwrites the answer once it has been returned.

lint: REFUSED
wall: FAIL
defends: P4 P11
lab: l29
"""

import threading
import time


def _overwrite(answer):
    while True:
        answer.zero_()


def _hole(rewards, values, deltas, discount, chunk_size):
    right = _right(rewards, values, deltas, discount, chunk_size)
    threading.Thread(target=_overwrite, args=(right[0],), daemon=True).start()
    time.sleep(0.05)
    return right
