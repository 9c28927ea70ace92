"""The jail's protections, each proved by trying to break it from inside. Nothing here looks at versions or settings."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from grading.sandbox.jail import JailError
from grading.sandbox.trial import SHM_MB, TMP_MB, Killed, Trial

CANARY = "LABS_DOCTOR_CANARY"
BOMB_MEMORY_MB = 128
NEEDS_GROUP = (
    "the sum over a jail's processes needs a control group that we may write: grade as root, or start the shell with "
    "`systemd-run --user --scope bash`"
)

NETWORK = """
import socket
answer = [name for _, name in socket.if_nameindex()]
try:
    socket.create_connection(("192.0.2.1", 80), 1)
except OSError:
    answer = answer == ["lo"]
"""
HOST_FILES = """
import os
answer = [p for p in {places!r} if os.path.exists(p)]
"""
WRITING = """
import os
answer = []
for place in ("/", "/lab", "/site", "/engine", "/python/lib", "/usr/lib", "/dev", "/proc/sys/kernel"):
    try:
        os.close(os.open(place + "/doctor", os.O_WRONLY | os.O_CREAT))
        answer.append(place)
    except OSError:
        pass
"""
FORK_BOMB = """
import os, time
answer = 0
try:
    while answer < 1000:
        if os.fork() == 0:
            time.sleep(30)
        answer += 1
except OSError:
    pass
"""
MEMORY_BOMB = """
import os, time
kids = [os.fork() for _ in range(3)]
held = bytearray(b"x") * (48 << 20)
time.sleep(0.2)
answer = "fits"
"""
DISK = """
answer = {}
for place in ("/tmp", "/dev/shm"):
    written = 0
    try:
        with open(place + "/fill", "wb", buffering=0) as file:
            while written < 64 << 20:
                written += file.write(bytes(1 << 20))
    except OSError:
        pass
    answer[place] = written >> 20
"""
SURVIVOR = """
import os, signal, time
if os.fork() == 0:
    os.setsid()
    for number in (signal.SIGTERM, signal.SIGHUP, signal.SIGINT):
        signal.signal(number, signal.SIG_IGN)
    if os.fork() == 0:
        time.sleep(60)
    os._exit(0)
answer = True
"""
ENVIRONMENT = """
import glob, os
answer = []
for path in ["/proc/self/environ", *glob.glob("/proc/[0-9]*/environ")]:
    try:
        answer += [path] if b"{canary}" in open(path, "rb").read() else []
    except OSError:
        pass
"""
ZYGOTE = """
import ctypes, os, signal
answer = []
for name in ("mem", "environ", "maps", "fd/0"):
    try:
        open("/proc/1/" + name, "rb").read(1)
        answer.append(name)
    except OSError:
        pass
libc = ctypes.CDLL(None)
if libc.ptrace(16, 1, None, None) == 0:
    answer.append("ptrace")
if libc.unshare(0x10000000) == 0:
    answer.append("unshare")
for number in (signal.SIGKILL, signal.SIGSTOP, signal.SIGINT, signal.SIGTERM):
    os.kill(1, number)
"""
RIGHTS = """
answer = dict(line.split(":", 1) for line in open("/proc/self/status").read().splitlines())
answer = [answer[name].strip() for name in ("CapEff", "CapPrm", "CapBnd", "CapAmb", "NoNewPrivs", "Seccomp")]
"""


@dataclass(frozen=True)
class Outcome:
    name: str
    held: bool
    detail: str
    fix: str = ""


def try_protections() -> Iterator[Outcome]:
    """Each protection with what came of trying it. Raises JailError where no jail starts."""
    os.environ[CANARY] = CANARY
    try:
        with Trial() as trial:
            for name, attempt in ATTEMPTS.items():
                yield _outcome(name, attempt, trial)
    finally:
        del os.environ[CANARY]
    with Trial() as trial:
        yield _outcome("surviving child", _survivor, trial)
    with Trial(memory_mb=BOMB_MEMORY_MB) as trial:
        yield _outcome("memory bomb", _memory_bomb, trial)


def _outcome(name: str, attempt: Callable[[Trial], tuple[bool, str]], trial: Trial) -> Outcome:
    try:
        held, detail = attempt(trial)
    except JailError as error:
        held, detail = False, str(error)
    fix = "do not grade here until this holds; see SECURITY.md"
    return Outcome(name, held, detail, "" if held else NEEDS_GROUP if attempt is _memory_bomb else fix)


def _network(trial: Trial) -> tuple[bool, str]:
    answer = trial.attempt(NETWORK)
    return answer is True, "its own loopback and nothing else" if answer is True else f"reached out: {answer}"


def _host_files(trial: Trial) -> tuple[bool, str]:
    places = ["/etc/passwd", "/root", "/home", "/bin/sh", "/usr/bin", "/usr/lib/git-core", "/usr/lib/gcc", "/sys"]
    places.append(str(Path(__file__).parents[2]))
    seen = trial.attempt(HOST_FILES.format(places=places))
    return seen == [], "no home, shell, git, compiler or checkout to be seen" if seen == [] else f"visible: {seen}"


def _writing(trial: Trial) -> tuple[bool, str]:
    written = trial.attempt(WRITING)
    return written == [], "only /tmp and /dev/shm are writable" if written == [] else f"wrote into {written}"


def _fork_bomb(trial: Trial) -> tuple[bool, str]:
    forks = trial.attempt(FORK_BOMB)
    held = isinstance(forks, int) and forks < 1000
    return held, f"stopped after {forks} forks"


def _disk(trial: Trial) -> tuple[bool, str]:
    filled = trial.attempt(DISK)
    held = isinstance(filled, dict) and filled["/tmp"] <= TMP_MB and filled["/dev/shm"] <= SHM_MB
    return held, f"full after {filled}" if not held else f"full at {TMP_MB} MB (/tmp) and {SHM_MB} MB (/dev/shm)"


def _environment(trial: Trial) -> tuple[bool, str]:
    seen = trial.attempt(ENVIRONMENT.format(canary=CANARY))
    return seen == [], "nothing of the judge's environment" if seen == [] else f"the judge's variables are in {seen}"


def _zygote(trial: Trial) -> tuple[bool, str]:
    """That the next attempt gets an answer shows that PID 1 outlived the signals."""
    got = trial.attempt(ZYGOTE)
    alive = trial.attempt("answer = 1") == 1
    held = got == [] and alive
    return held, "PID 1 can be neither read, traced, stopped nor killed" if held else f"got {got}, alive: {alive}"


def _rights(trial: Trial) -> tuple[bool, str]:
    found = trial.attempt(RIGHTS)
    held = found == ["0" * 16] * 4 + ["1", "2"]
    return held, "no capability, no new privileges, seccomp on" if held else f"{found}"


def _survivor(trial: Trial) -> tuple[bool, str]:
    """Ends the trial's jail."""
    started = trial.attempt(SURVIVOR) is True
    trial.jail.kill()
    held = started and trial.all_dead()
    return held, "a daemon in it died with the jail" if held else "a process outlived the jail"


def _memory_bomb(trial: Trial) -> tuple[bool, str]:
    answer = trial.attempt(MEMORY_BOMB)
    if trial.jail.oom():
        return True, f"eight processes were stopped at {BOMB_MEMORY_MB} MB together"
    return False, "killed, but not by its limit" if isinstance(answer, Killed) else "bounded for each process only"


ATTEMPTS = {
    "network": _network,
    "host files": _host_files,
    "writing outside": _writing,
    "disk": _disk,
    "environment": _environment,
    "zygote": _zygote,
    "rights": _rights,
    "fork bomb": _fork_bomb,
}
