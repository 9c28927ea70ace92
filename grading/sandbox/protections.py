"""The jail's protections, each proved by trying to break it from inside. Nothing here looks at versions or settings."""

from __future__ import annotations

import os
import signal
import socket
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from grading.sandbox.jail import JailError
from grading.sandbox.scratch import Scratch
from grading.sandbox.trial import SHM_MB, TMP_MB, Killed, Trial

CANARY = "LABS_DOCTOR_CANARY"
BOMB_MEMORY_MB = 128
NEEDS_GROUP = (
    "the sum over a jail's processes needs a control group that we may write: grade as root, or start the shell with "
    "`systemd-run --user --scope bash`"
)

NETWORK = """
import socket
answer = [name for _, name in socket.if_nameindex() if name != "lo"]
for address in [("127.0.0.1", {port}), ("192.0.2.1", 80), {name!r}]:
    try:
        line = socket.socket(socket.AF_UNIX if isinstance(address, str) else socket.AF_INET)
        line.settimeout(1)
        line.connect(address)
        answer.append(str(address))
    except OSError:
        pass
"""
HIDDEN = """
import os
answer = []
for path in {paths!r}:
    try:
        os.listdir(path) if os.path.isdir(path) else open(path, "rb").close()
        answer.append(path)
    except OSError:
        pass
for folder, folders, files in os.walk("/") if not answer else ():
    if folder == "/":
        folders[:] = [name for name in folders if name not in ("proc", "site", "python", "usr", "lib", "lib64")]
    answer += [os.path.join(folder, name) for name in files if name == {name!r}]
"""
JUDGE = """
import ctypes, os
answer, libc = [], ctypes.CDLL(None)
for pid in [int(name) for name in os.listdir("/proc") if name.isdigit()]:
    try:
        if open("/proc/%d/stat" % pid).read().rpartition(")")[2].split()[19] != {started!r}:
            continue
    except OSError:
        continue
    answer.append("sees it")
    answer += ["traces it"] if libc.ptrace(0x4206, pid, None, None) == 0 else []  # SEIZE, which does not stop it
    try:
        open("/proc/%d/mem" % pid, "rb").close()
        answer.append("reads its memory")
    except OSError:
        pass
    try:
        os.kill(pid, 0)
        answer.append("signals it")
    except OSError:
        pass
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
import os
answer = {}
for place in ("/tmp", "/dev/shm"):
    written = 0
    try:
        for number in range(64):  # many files: the limit of a single one is not what is asked for
            with open(place + "/fill%d" % number, "wb", buffering=0) as file:
                written += file.write(bytes(1 << 20))
    except OSError:
        pass
    for name in os.listdir(place):
        os.unlink(os.path.join(place, name))
    answer[place] = written >> 20
"""
SURVIVOR = """
import os, signal, time
reading, writing = os.pipe()
if os.fork() == 0:
    os.setsid()
    for number in (signal.SIGTERM, signal.SIGHUP, signal.SIGINT):
        signal.signal(number, signal.SIG_IGN)
    if os.fork() == 0:
        os.write(writing, str(os.getpid()).encode())
        time.sleep(60)
    os._exit(0)
answer = int(os.read(reading, 20))
"""
ENVIRONMENT = """
import ctypes, glob, os
ctypes.CDLL(None).prctl(4, 1, 0, 0, 0)  # dumpable again: else not even its own could be read
answer = ["its own variables"] if {canary!r} in os.environ else []
for folder in glob.glob("/proc/[0-9]*"):
    try:
        started = open(folder + "/stat").read().rpartition(")")[2].split()[19]
        found = open(folder + "/environ", "rb").read()
        answer += [folder] if started == {started!r} or {canary!r}.encode() in found else []
    except OSError:
        pass
"""
ZYGOTE = """
import ctypes, os, signal
answer = []
for name in ("mem", "environ", "maps", "fd/0"):
    try:
        open("/proc/1/" + name, "rb").close()
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


def try_without_jail() -> Iterator[Outcome]:
    """What a plain process of ours is held back from, where there is no jail: tried, but for what would do harm."""
    os.environ[CANARY] = CANARY
    try:
        with Trial(jailed=False) as trial:
            for name in ("network", "hidden tests", "environment", "judge"):
                yield _outcome(name, ATTEMPTS[name], trial)
            for name in ("writing outside", "fork bomb", "memory bomb", "disk"):
                yield Outcome(name, False, "not tried: nothing here would stop it")
            yield Outcome("surviving child", *_survivor_alone(trial))
    finally:
        del os.environ[CANARY]
    yield Outcome("deadline", *_deadline())


def _survivor_alone(trial: Trial) -> tuple[bool, str]:
    """As `_survivor`, and what has outlived the trial is ended here."""
    daemon = trial.attempt(SURVIVOR)
    trial.jail.kill()
    if trial.all_dead():
        return True, "a daemon in it died with the grading"
    if isinstance(daemon, int):
        os.kill(daemon, signal.SIGKILL)
    return False, "a process outlived the grading"


def _deadline() -> tuple[bool, str]:
    with Trial(jailed=False) as trial:
        trial.begin("while True: pass")
        time.sleep(0.2)
        trial.jail.kill()
        held = trial.all_dead()
    return held, "code that hangs is ended from outside" if held else "code that hangs goes on"


def _outcome(name: str, attempt: Callable[[Trial], tuple[bool, str]], trial: Trial) -> Outcome:
    try:
        held, detail = attempt(trial)
    except JailError as error:
        held, detail = False, str(error)
    fix = "do not grade here until this holds; see SECURITY.md"
    return Outcome(name, held, detail, "" if held else NEEDS_GROUP if attempt is _memory_bomb else fix)


def _network(trial: Trial) -> tuple[bool, str]:
    """Two lines of ours wait outside: one on the machine's loopback, one in its abstract namespace."""
    name = f"\0labs-doctor-{os.getpid()}"
    with socket.create_server(("127.0.0.1", 0)) as tcp, socket.socket(socket.AF_UNIX) as unix:
        unix.bind(name)
        unix.listen()
        reached = trial.attempt(NETWORK.format(port=tcp.getsockname()[1], name=name))
    return reached == [], "its own loopback and nothing else" if reached == [] else f"reached {reached}"


def _hidden(trial: Trial) -> tuple[bool, str]:
    """A file that stands for one, by its path and by looking for it everywhere; and the labs of this checkout."""
    with Scratch() as folder:
        hidden = folder / f"test_hidden_{os.getpid()}.py"
        hidden.write_text("SECRET\n")
        folder.chmod(0o755)
        paths = [str(hidden), str(Path(__file__).parents[2] / "challenges")]
        seen = trial.attempt(HIDDEN.format(paths=paths, name=hidden.name))
    return seen == [], "not there, neither by path nor by search" if seen == [] else f"reads {seen}"


def _judge(trial: Trial) -> tuple[bool, str]:
    """This process stands for it."""
    got = trial.attempt(JUDGE.format(started=_started()))
    return got == [], "cannot be seen, traced, read or signalled" if got == [] else f"the judge: {got}"


def _started() -> str:
    """By which the judge is known: its start, in ticks since boot, is the same in every namespace."""
    return Path("/proc/self/stat").read_text().rpartition(")")[2].split()[19]


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
    seen = trial.attempt(ENVIRONMENT.format(canary=CANARY, started=_started()))
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
    started = isinstance(trial.attempt(SURVIVOR), int)
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
    "hidden tests": _hidden,
    "host files": _host_files,
    "writing outside": _writing,
    "disk": _disk,
    "environment": _environment,
    "judge": _judge,
    "zygote": _zygote,
    "rights": _rights,
    "fork bomb": _fork_bomb,
}
