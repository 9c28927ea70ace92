"""Looks for anything that would carry a value to the next probe: System V objects, queues, files, keys.

lint: REFUSED
wall: PASS
defends: P4 P5
"""

import ctypes
import os

_libc = ctypes.CDLL(None)


def _hole(grad_output, ctx):
    kept = {
        "shared memory": _libc.shmget(7, 4096, 0o1600) != -1,
        "semaphores": _libc.semget(7, 1, 0o1600) != -1,
        "System V queue": _libc.msgget(7, 0o1600) != -1,
        "key": _libc.syscall(248, b"user", b"name", b"value", 5, -5) != -1,
        "files": any(os.listdir(place) for place in ("/tmp", "/dev/shm")),
    }
    assert not any(kept.values()), f"LEAK {kept}"
    return _right(grad_output, ctx)
