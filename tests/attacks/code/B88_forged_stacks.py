"""Writes a stack dump of its own that points at files of the judge's machine, and hangs.

lint: REFUSED
wall: TIMEOUT
defends: P1 P13
says: ^(?!.*root:x:0)
"""

import faulthandler
import os
import signal
import sys

_DUMP = """Current thread 0x00 (most recent call first):
  File "/lab/../../../../../../etc/passwd", line 1 in _hole
  File "/lab//etc/passwd", line 1 in _hole
  File "/lab/./\x1b[2J", line 1 in _hole
"""


def _hole(grad_output, ctx):
    faulthandler.unregister(signal.SIGUSR1)
    signal.signal(signal.SIGUSR1, signal.SIG_IGN)
    frame = sys._getframe()
    while "channels" not in frame.f_locals:
        frame = frame.f_back
    os.write(frame.f_locals["channels"].stacks, _DUMP.encode())
    while True:
        signal.pause()
