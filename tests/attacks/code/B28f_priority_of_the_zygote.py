"""Takes PID 1 off the processor: lowest priority, idle scheduling, one core.

lint: REFUSED
wall: PASS
defends: P4
"""

import contextlib
import os


def _lowers(call):
    with contextlib.suppress(OSError):
        call()
        return True
    return False


def _hole(grad_output, ctx):
    got = {
        "nice": _lowers(lambda: os.setpriority(os.PRIO_PROCESS, 1, 19)),
        "idle": _lowers(lambda: os.sched_setscheduler(1, os.SCHED_IDLE, os.sched_param(0))),
        "batch": _lowers(lambda: os.sched_setscheduler(1, os.SCHED_BATCH, os.sched_param(0))),
        "cores": _lowers(lambda: os.sched_setaffinity(1, [min(os.sched_getaffinity(0))])),
    }
    assert not any(got.values()), f"LEAK {got}"
    return _right(grad_output, ctx)
