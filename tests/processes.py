"""Waiting for other processes, and ending them."""

import os
import select
import signal
import time
from pathlib import Path

PATIENCE_S = 240.0  # on a machine that is busy with other things


def until(true):
    """What `true` returns, once that is true."""
    deadline = time.monotonic() + PATIENCE_S
    while not (found := true()):
        assert time.monotonic() < deadline
        time.sleep(0.05)
    return found


def end(pid: int, how: int = signal.SIGKILL) -> None:
    """Send a signal and wait for the process to be gone."""
    try:
        opened = os.pidfd_open(pid)
    except ProcessLookupError:
        return
    signal.pidfd_send_signal(opened, how)
    assert select.select([opened], [], [], PATIENCE_S)[0]
    os.close(opened)


def gone(pid: int) -> bool:
    return not Path(f"/proc/{pid}/cmdline").exists() or not Path(f"/proc/{pid}/cmdline").read_bytes()
