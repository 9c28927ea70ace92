"""What `labs doctor` finds out: the machine, the tools, the jail's protections, and which labs can be done here."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path
from typing import TYPE_CHECKING

from grading.sandbox import binds, jail
from grading.sandbox.protections import try_protections, try_without_jail

if TYPE_CHECKING:
    from grading.course.catalog import Course

OLDEST_PYTHON = (3, 11)
OLDEST_GIT = (2, 31)
TORCH_VERSION = "2.13"
WANTED_CORES = 2
WANTED_MEMORY_GB = 8
JAIL_HINT = "`labs test` runs without a jail, but a verdict counts only with one"

NO_JAIL = "run no code of strangers here: `labs grade` refuses, but for --no-jail"


@dataclass(frozen=True)
class Check:
    """held: True, False (see `fix`), or None for what is only told."""

    name: str
    held: bool | None
    detail: str
    fix: str = ""


def run_checks(course: Course | None) -> list[Check]:
    """All checks, in the order in which to read them; within ten seconds; never raises for what a machine lacks."""
    checks = [check() for check in (_python, _torch, _cores, _memory, _git, _gpu)]
    checks += _jail()
    return checks + ([_labs(course)] if course else [])


def _python() -> Check:
    version = ".".join(map(str, sys.version_info[:3]))
    held = sys.version_info[:2] >= OLDEST_PYTHON
    return Check("python", held, version, "" if held else "install Python 3.11 or newer and make the venv with it")


def _torch() -> Check:
    """Read from the installed files: importing torch takes seconds."""
    try:
        found = metadata.distribution("torch")
    except metadata.PackageNotFoundError:
        return Check("torch", False, "not installed", f"pip install torch=={TORCH_VERSION}.* {_cpu_hint()}")
    cuda = _cuda_version(Path(str(found.locate_file("torch/version.py"))))
    detail = f"{found.version} ({f'CUDA {cuda}' if cuda else 'CPU'} build)"
    if not found.version.startswith(f"{TORCH_VERSION}."):
        return Check("torch", False, detail, f"the labs are written for {TORCH_VERSION}: pip install -e .")
    needless = cuda and not binds.gpu_devices()
    return Check("torch", True, detail, f"no GPU here: {_cpu_hint()}" if needless else "")


def _cpu_hint() -> str:
    return "PyTorch's CPU wheels are a tenth of the size: choose Compute Platform CPU in the selector on pytorch.org"


def _cuda_version(file: Path) -> str:
    text = file.read_text() if file.is_file() else ""
    found = re.search(r"^cuda\b.*?=\s*'([^']+)'", text, re.MULTILINE)
    return found.group(1) if found else ""


def _cores() -> Check:
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    held = cores >= WANTED_CORES
    return Check("cores", held, str(cores), "" if held else "probes with 2 or 4 ranks will be slow; expect time-outs")


def _memory() -> Check:
    gigabytes = _memory_gb()
    held = gigabytes >= WANTED_MEMORY_GB - 1  # a machine sold as 8 GB shows somewhat less
    fix = "" if held else "lower limits.memory_mb of the labs you grade, or grade one at a time"
    return Check("memory", held, f"{gigabytes:.0f} GB", fix)


def _memory_gb() -> float:
    return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") / (1 << 30)


def _git() -> Check:
    binary = shutil.which("git")
    if binary is None:
        return Check("git", False, "not installed", "apt-get install git")
    says = subprocess.run([binary, "--version"], capture_output=True, text=True, check=False).stdout
    found = re.search(r"(\d+)\.(\d+)[.\d]*", says)
    if found and (int(found.group(1)), int(found.group(2))) >= OLDEST_GIT:
        return Check("git", True, found.group(0))
    wanted = ".".join(map(str, OLDEST_GIT))
    return Check("git", False, says.strip() or "does not run", f"install git {wanted} or newer")


def _gpu() -> Check:
    count = sum(path.name.removeprefix("nvidia").isdecimal() for path in binds.gpu_devices())
    return Check("gpu", None, f"{count} NVIDIA device{'s' * (count != 1)}" if count else "none; no lab needs one")


def _jail() -> Iterator[Check]:
    status = jail.status()
    if not status.ok:
        yield Check("jail", False, f"{status.reason}; {JAIL_HINT}", status.fix)
        for outcome in try_without_jail():
            yield Check(f"no jail: {outcome.name}", outcome.held, outcome.detail, "" if outcome.held else NO_JAIL)
        yield Check("no jail: values", None, "still compared in the judge's own process; the lint still refuses")
        return
    order = "as root, no user namespace" if status.kind == "root" else "as an ordinary user, in a user namespace"
    yield Check("jail", True, order)
    for outcome in try_protections():
        yield Check(f"jail: {outcome.name}", outcome.held, outcome.detail, outcome.fix)


def _labs(course: Course) -> Check:
    """Which labs can be graded here: their packages are installed and their memory limit fits the machine."""
    missing = {lab.id: _lacks(lab.packages, lab.limits.memory_mb) for lab in course.labs}
    lacking = {name: what for name, what in missing.items() if what}
    detail = f"{len(missing) - len(lacking)} of {len(missing)} can be done here"
    if lacking:
        detail += "; " + ", ".join(f"{name} lacks {' and '.join(what)}" for name, what in lacking.items())
    packages = sorted({one for what in lacking.values() for one in what if one != "memory"})
    return Check("labs", not lacking, detail, f"pip install {' '.join(packages)}" if packages else "")


def _lacks(packages: list[str], memory_mb: int) -> list[str]:
    lacking = [name for name in packages if not _installed(name)]
    return lacking + (["memory"] if memory_mb > _memory_gb() * 1024 else [])


def _installed(name: str) -> bool:
    try:
        metadata.distribution(name)
    except metadata.PackageNotFoundError:
        return False
    return True
