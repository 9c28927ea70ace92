"""Answers with an error whose frames point at files of the judge's machine.

lint: REFUSED
wall: FAIL
defends: P1 P13
says: ^(?!.*root:x:0)
"""

import os
import sys


def _channel():
    frame = sys._getframe()
    while "channel" not in frame.f_locals:
        frame = frame.f_back
    return frame.f_locals


def _hole(grad_output, ctx):
    here = _channel()
    places = ["/etc/passwd", "../../../../../../../../etc/passwd", "/dev/zero", "x" * 5000, "\ud800", "a\nb"]
    frames = [{"path": path, "line": line, "function": "f"} for path in places for line in (1, -1, 10**15)]
    error = {"type": "timeout", "bases": ["tamper"], "message": "PASS", "frames": frames}
    here["channel"].send({"id": here["request"]["id"], "error": error})
    os._exit(0)
