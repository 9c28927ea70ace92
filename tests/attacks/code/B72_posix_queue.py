"""Leaves a message in a POSIX queue, which outlives its processes, for the next probe.

lint: REFUSED
wall: PASS
defends: P4 P6
"""

import ctypes
import os


def _hole(grad_output, ctx):
    made = ctypes.CDLL("librt.so.1", use_errno=True).mq_open(b"/left", os.O_CREAT | os.O_RDWR, 0o600, None)
    assert made < 0, "LEAK a queue for the next probe"
    return _right(grad_output, ctx)
