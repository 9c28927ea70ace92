"""Tries to take the answer channel of its peer: /proc, pidfd_getfd, ptrace, its memory.

lint: REFUSED
wall: PASS
defends: P4 P7
"""

import ctypes
import glob
import os


def _others():
    return [int(path[6:]) for path in glob.glob("/proc/[0-9]*") if int(path[6:]) != os.getpid()]


def _takes(pid):
    libc = ctypes.CDLL(None, use_errno=True)
    yield libc.ptrace(16, pid, 0, 0) == 0
    yield any(libc.syscall(438, os.pidfd_open(pid), fd, 0) >= 0 for fd in range(3, 20))
    for fd in range(3, 20):
        try:
            os.close(os.open(f"/proc/{pid}/fd/{fd}", os.O_WRONLY))
            yield "socket" in os.readlink(f"/proc/{pid}/fd/{fd}")
        except OSError:
            yield False


def _hole(grad_output, ctx):
    assert not any(taken for pid in _others() for taken in _takes(pid)), "LEAK a peer's channel"
    return _right(grad_output, ctx)
