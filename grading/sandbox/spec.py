"""What one jail is made of: the description, and what follows from it for bwrap and for the kernel's limits."""

from __future__ import annotations

import contextlib
import os
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from grading.sandbox import binds

if TYPE_CHECKING:
    from grading.course.catalog import Limits

ENVIRONMENT = {
    "HOME": "/tmp",
    "LANG": "C.UTF-8",
    "OMP_NUM_THREADS": "1",
    "MKL_NUM_THREADS": "1",
    "PYTHONHASHSEED": "0",  # a set of strings iterates alike in every grading of one seed
    "GLOO_SOCKET_IFNAME": "lo",
    "TORCH_DEVICE_BACKEND_AUTOLOAD": "0",
    "TORCH_CPP_LOG_LEVEL": "ERROR",  # c10d warns of each loopback socket that it has no host name
}
MAPPED_LIBRARIES_MB = 8192  # address space that torch's libraries map beyond what they allocate
UPSTREAM = "/upstream"
ALL_BUT_USER = ("--unshare-ipc", "--unshare-pid", "--unshare-net", "--unshare-uts", "--unshare-cgroup-try")
DROP_IN_PROCESS = [arg for name in ("SETUID", "SETGID", "SETPCAP") for arg in ("--cap-add", f"CAP_{name}")]


@dataclass(frozen=True)
class Recipe:
    """A program that loads one upstream release in the zygote, and the folders that it needs, on this machine."""

    name: str
    program: Path
    snapshot: Path
    packages: Path | None = None

    def places(self, jailed: bool) -> dict[str, str]:
        """Where the zygote sees each of them."""
        here = {"program": self.program, "snapshot": self.snapshot, "packages": self.packages}
        inside = f"{UPSTREAM}/{self.name}"
        return {key: f"{inside}/{key}" if jailed else str(path) for key, path in here.items() if path}

    def binds(self) -> list[str]:
        args = binds.folders(f"{UPSTREAM}/{self.name}")
        for key, place in self.places(jailed=True).items():
            args += ["--ro-bind", str(getattr(self, key)), place]
        return args


@dataclass(frozen=True)
class JailSpec:
    """What one jail holds. tree: a folder that every uid may read, bound at /lab; may be filled later."""

    tree: Path
    engine: Path  # the package `grading`
    packages: list[str]
    limits: Limits
    files: bool  # may ranks write /tmp and /dev/shm
    env: dict[str, str] = field(default_factory=dict)
    recipes: list[Recipe] = field(default_factory=list)
    gpu: bool = False  # show the machine's GPUs


def arguments(spec: JailSpec) -> list[str]:
    """bwrap's options, in the order in which it carries them out."""
    as_root = os.geteuid() == 0
    args = [*ALL_BUT_USER, "--hostname", "jail", "--cap-drop", "ALL"]
    args += DROP_IN_PROCESS if as_root else ["--unshare-user", "--disable-userns", "--uid", "1000", "--gid", "1000"]
    args += ["--die-with-parent", "--new-session", "--as-pid-1", "--clearenv"]
    environment = ENVIRONMENT | {"LD_LIBRARY_PATH": f"{binds.PYTHON}/lib"} | spec.env
    for name, value in environment.items():
        args += ["--setenv", name, value]
    args += [*binds.library_binds(), *binds.python_binds(), *binds.package_binds(spec.packages)]
    for recipe in spec.recipes:
        args += recipe.binds()
    args += [*binds.engine_binds(spec.engine), "--ro-bind", str(spec.tree), binds.LAB, "--proc", "/proc"]
    args += _scratch(spec) + (binds.device_binds() if spec.gpu else [])
    return [*args, "--remount-ro", "/dev", "--remount-ro", "/", "--chdir", "/tmp"]


def _scratch(spec: JailSpec) -> list[str]:
    """--dev brings a writable /dev/shm of half the machine's memory: a sized one goes over it."""
    args = ["--dev", "/dev"]
    for place, megabytes in (("/tmp", spec.limits.tmp_mb), ("/dev/shm", spec.limits.shm_mb)):
        args += ["--size", str(megabytes << 20), "--perms", "1777", "--tmpfs", place]
    return args if spec.files else [*args, "--remount-ro", "/dev/shm"]  # /tmp holds the folders a test keeps


def rlimits(spec: JailSpec) -> dict[str, int]:
    memory = spec.limits.memory_mb << 20
    others = 0 if os.geteuid() == 0 else _threads_of_user()
    space = {} if spec.gpu else {"as": memory + (MAPPED_LIBRARIES_MB << 20)}  # CUDA reserves more than machines have
    writable = max(spec.limits.tmp_mb, spec.limits.shm_mb) << 20  # a rank of a lab without files sets 0 for itself
    return {
        "nproc": processes(spec) + others,
        "data": memory,
        **space,
        "fsize": writable,  # also bounds memfd_create, which no tmpfs size does
        "nofile": 256,
        "core": 0,
        "msgqueue": 0,
    }


def processes(spec: JailSpec) -> int:
    """Threads count. A rank with a few gloo groups has about twenty."""
    return 64 + 32 * spec.limits.ranks


def _threads_of_user() -> int:
    """RLIMIT_NPROC counts all that an ordinary user runs, so the jail's share goes on top."""
    count = 0
    for folder in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            if folder.stat().st_uid == os.geteuid():
                count += len(os.listdir(folder / "task"))
    return count
