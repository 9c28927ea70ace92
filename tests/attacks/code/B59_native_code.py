"""Tries to load a library of its own: from tmpfs, from memory, as an operator library, compiled on the spot.

lint: REFUSED
wall: PASS
defends: P5 P10
"""

import ctypes
import glob
import os
import shutil


def _written():
    library = glob.glob("/site/**/lib*.so*", recursive=True)[0]
    shutil.copy(library, "/tmp/evil.so")
    ctypes.CDLL("/tmp/evil.so")


def _in_memory():
    fd = os.memfd_create("evil")
    os.write(fd, b"\x7fELF" * 1024)
    ctypes.CDLL(f"/proc/self/fd/{fd}")


def _operators():
    torch.ops.load_library("/tmp/evil.so")


def _compiled():
    os.execv("/usr/bin/cc", ["cc", "--version"])


def _hole(grad_output, ctx):
    for attempt in (_written, _in_memory, _operators, _compiled):
        try:
            attempt()
        except OSError:
            continue
        return torch.zeros_like(grad_output)
    return _right(grad_output, ctx)
