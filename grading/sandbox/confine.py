"""What the zygote does to itself before anything else: give up every right it does not need.

Runs inside the jail with the standard library and ctypes only. bubblewrap starts the zygote as real root with three
capabilities (SETUID, SETGID, SETPCAP), just enough to throw the rest away here; as an ordinary user there is no uid
to change and the rest still applies.
"""

from __future__ import annotations

import ctypes
import os
import resource
import signal
import sys

PR_SET_PDEATHSIG = 1
PR_SET_DUMPABLE = 4
PR_CAPBSET_DROP = 24
PR_SET_NO_NEW_PRIVS = 38
PR_CAP_AMBIENT = 47
PR_CAP_AMBIENT_CLEAR_ALL = 4
CAPABILITY_VERSION_3 = 0x20080522
LAST_POSSIBLE_CAPABILITY = 63


def confine(uid: int | None, rlimits: dict[str, int]) -> None:
    """Drop to `uid` (None: stay), lose all capabilities, become untraceable, and set `rlimits`.

    rlimits: names without the prefix, lower case ("nproc", "fsize"), values as setrlimit takes them (bytes, counts).
    Raises OSError when something that should have been given up could not be: the zygote must end then.
    PR_SET_PDEATHSIG comes after the change of uid, because the kernel clears it whenever credentials change.
    """
    signal.signal(signal.SIGINT, signal.SIG_DFL)  # Python's one handler: without it PID 1 ignores what ranks send
    if sys.platform == "linux":
        _drop_bounding_set(strict=uid is not None)
        if uid is not None:
            _become(uid)
        _drop_capabilities()
        _prctl(PR_SET_NO_NEW_PRIVS, 1)
        _prctl(PR_SET_DUMPABLE, 0)
        _prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
    for name, value in rlimits.items():
        _limit(getattr(resource, f"RLIMIT_{name.upper()}"), value)


def _become(uid: int) -> None:
    """The group id equals the user id; no account of that number is needed."""
    os.setgroups([])
    os.setresgid(uid, uid, uid)
    os.setresuid(uid, uid, uid)
    if os.getresuid() != (uid, uid, uid) or os.getgroups():
        raise OSError(f"still uid {os.getresuid()}, groups {os.getgroups()} after dropping to {uid}")


def _drop_bounding_set(strict: bool) -> None:
    """Only a process with CAP_SETPCAP may do this; without it (ordinary user) no_new_privs makes the set moot."""
    for capability in range(LAST_POSSIBLE_CAPABILITY + 1):
        try:
            _prctl(PR_CAPBSET_DROP, capability)
        except OSError as error:
            if isinstance(error, PermissionError) and strict:
                raise
            return  # EINVAL: beyond the kernel's last capability


def _drop_capabilities() -> None:
    _prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL)
    header = (ctypes.c_uint32 * 2)(CAPABILITY_VERSION_3, 0)
    nothing = (ctypes.c_uint32 * 6)()  # effective, permitted, inheritable, each in two words
    _checked(_libc().capset(header, nothing), "capset")


def _limit(which: int, value: int) -> None:
    """Never above the hard limit that is already there: an ordinary user could not raise it."""
    _, hard = resource.getrlimit(which)
    if hard != resource.RLIM_INFINITY:
        value = min(value, hard)
    resource.setrlimit(which, (value, value))


def _prctl(option: int, argument: int) -> None:
    """Unused arguments must be zero (PR_CAP_AMBIENT, PR_SET_NO_NEW_PRIVS), and are longs."""
    zero = ctypes.c_ulong(0)
    _checked(_libc().prctl(option, ctypes.c_ulong(argument), zero, zero, zero), f"prctl {option}")


def _checked(result: int, what: str) -> None:
    if result != 0:
        error = ctypes.get_errno()
        raise OSError(error, f"{what}: {os.strerror(error)}")


def _libc() -> ctypes.CDLL:
    return ctypes.CDLL(None, use_errno=True)
