"""Tries each way into the memory, the descriptors and the environment of PID 1.

lint: REFUSED
wall: PASS
defends: P4
"""

import ctypes
import os

_libc = ctypes.CDLL(None)
_PTRACE_ATTACH, _PTRACE_SEIZE, _PR_SET_DUMPABLE = 16, 0x4206, 4
_PIDFD_OPEN, _PIDFD_GETFD, _WRITEV = 434, 438, 311


def _opens(path, flags=os.O_RDONLY):
    try:
        fd = os.open(path, flags)
        if flags == os.O_WRONLY:
            os.write(fd, b"1")
        os.close(fd)
    except OSError:
        return False
    return True


def _hole(grad_output, ctx):
    _libc.prctl(_PR_SET_DUMPABLE, 1)
    files = ("mem", "environ", "maps", "stack", "syscall", "auxv", "fd/0", "fd/3", "cwd", "root/lab", "exe")
    got = {name: _opens(f"/proc/1/{name}") for name in files}
    got |= {name: _opens(f"/proc/1/{name}", os.O_WRONLY) for name in ("oom_score_adj", "timerslack_ns", "clear_refs")}
    got["ptrace"] = _libc.ptrace(_PTRACE_ATTACH, 1, None, None) == 0 or _libc.ptrace(_PTRACE_SEIZE, 1, None, None) == 0
    pidfd = _libc.syscall(_PIDFD_OPEN, 1, 0)
    got["getfd"] = any(_libc.syscall(_PIDFD_GETFD, pidfd, fd, 0) >= 0 for fd in range(16))
    got["writev"] = _libc.syscall(_WRITEV, 1, None, 0, None, 0, 0) == 0
    assert not any(got.values()), f"LEAK {got}"
    return _right(grad_output, ctx)
