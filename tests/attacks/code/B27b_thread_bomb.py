"""Starts threads for as long as it may.

lint: REFUSED
wall: FAIL
defends: P6
says: can't start new thread
"""

import threading
import time


def _hole(grad_output, ctx):
    while True:
        threading.Thread(target=time.sleep, args=(600,), daemon=True).start()
