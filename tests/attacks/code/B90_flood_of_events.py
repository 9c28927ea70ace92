"""Fills the recorder's pipe with one line of millions of empty lists and with forged posts; then hangs.

lint: REFUSED
wall: TIMEOUT
defends: P7 P12
"""

import gc
import os
import time


def _hole(grad_output, ctx):
    recorder = next(thing for thing in gc.get_objects() if type(thing).__name__ == "Recorder")
    os.write(recorder.sink, b"[" + b"[]," * (1 << 20) + b"[]]\n")
    for _ in range(1000):
        recorder.emit("post", "all_reduce", numel=1 << 61, group=tuple(range(1000)))
    time.sleep(60)
