"""What the jail can see: Python, its shared libraries, the packages of the lab, a few files of the engine, the tree.

Everything is bound read-only and one by one, so that nothing else is there: no shell, no git, no compiler, no home,
no other package of the virtual environment. The interpreter is moved to /python, which works alike for Debian's, a
pyenv below a closed home, and a virtual environment of either.
"""

from __future__ import annotations

import contextlib
import functools
import os
import sys
import sysconfig
from importlib import metadata
from pathlib import Path

from packaging.requirements import InvalidRequirement, Requirement

ENGINE_FILES = tuple(
    f"sandbox/{name}.py" for name in ("__init__", "zygote", "ranks", "record", "wire", "confine", "forking", "stubs")
)
ALWAYS = ("torch", "numpy", "safetensors")
SITE = "/site"
ENGINE = "/engine"
LAB = "/lab"
PYTHON = "/python"


class MissingPackage(RuntimeError):
    """A lab's package is not installed; the message says how to install it."""


def jail_python() -> str:
    """The interpreter's path inside the jail."""
    return f"{PYTHON}/bin/python{sys.version_info.major}.{sys.version_info.minor}"


def python_binds() -> list[str]:
    """bwrap arguments for the interpreter: binary, standard library without its site-packages, libpython."""
    base = Path(sys.base_prefix)
    stdlib = Path(sysconfig.get_path("stdlib", vars={"installed_base": str(base)}))
    inside = f"{PYTHON}/{stdlib.relative_to(base)}"
    binary = Path(getattr(sys, "_base_executable", sys.executable)).resolve()
    args = [*folders(f"{PYTHON}/bin", os.path.dirname(inside), f"{PYTHON}/lib")]
    args += ["--ro-bind", str(binary), jail_python(), "--ro-bind", str(stdlib), inside]
    for name in ("site-packages", "dist-packages"):
        if (stdlib / name).is_dir():  # the base interpreter's own packages are not the lab's
            args += ["--size", "4096", "--tmpfs", f"{inside}/{name}", "--remount-ro", f"{inside}/{name}"]
    return args + _libpython(base)


def _libpython(base: Path) -> list[str]:
    """The interpreter's own shared libraries; those of a system Python lie with the system's."""
    if base in (Path("/usr"), Path("/usr/local")) and not sysconfig.get_config_var("Py_ENABLE_SHARED"):
        return []
    pattern = "libpython*.so*" if base.is_relative_to("/usr") else "*.so*"
    args = []
    for library in sorted(base.glob(f"lib/{pattern}")):
        args += ["--ro-bind", str(library.resolve()), f"{PYTHON}/lib/{library.name}"]
    return args


def library_binds() -> list[str]:
    """The folders of the system's shared libraries and the loader: no folder of programs among them."""
    multiarch = sysconfig.get_config_var("MULTIARCH") or ""
    args = folders("/usr/lib")
    for folder in (f"/usr/lib/{multiarch}" if multiarch else "", "/usr/lib64"):
        if folder and Path(folder).is_dir() and not Path(folder).is_symlink():
            args += ["--ro-bind", folder, folder]
    for name in ("lib", "lib64"):
        top = Path("/", name)
        if top.is_symlink():
            args += ["--symlink", f"usr/{name}", f"/{name}"]
        elif name == "lib64" and top.is_dir():  # not merged with /usr
            args += ["--ro-bind", "/lib64", "/lib64"]
        elif multiarch and (top / multiarch).is_dir():
            args += [*folders("/lib"), "--ro-bind", f"/lib/{multiarch}", f"/lib/{multiarch}"]
    return args


def package_binds(packages: list[str]) -> list[str]:
    """bwrap arguments that show torch, numpy, safetensors, `packages` and what they need under /site."""
    args = folders(SITE)
    for entry in package_entries(packages):
        args += ["--ro-bind", str(entry), f"{SITE}/{entry.name}"]
    return args


def package_entries(packages: list[str]) -> list[Path]:
    """Top-level files and folders of the packages' distributions and of all that these depend on.

    Raises MissingPackage for a package of the lab; a missing dependency of a dependency is left to the import.
    """
    wanted = [*ALWAYS, *packages]
    found: dict[str, Path] = {}
    for name in _closure(tuple(wanted)):
        for entry in _entries(name):
            found.setdefault(entry.name, entry)
    return list(found.values())


@functools.cache
def _closure(names: tuple[str, ...]) -> list[str]:
    for name in names:
        try:
            metadata.distribution(name)
        except metadata.PackageNotFoundError:
            raise MissingPackage(f"package {name!r} is not installed: pip install {name}") from None
    seen: dict[str, None] = {}
    queue = [Requirement(name) for name in names]
    while queue:
        requirement = queue.pop()
        if requirement.name not in seen:
            seen[requirement.name] = None
            queue += _requirements(requirement)
    return list(seen)


def _requirements(requirement: Requirement) -> list[Requirement]:
    """What an installed distribution needs here, with the extras that were asked for; nothing when it is missing."""
    try:
        lines = metadata.distribution(requirement.name).requires or []
    except metadata.PackageNotFoundError:
        return []
    needs = []
    for line in lines:
        if "extra ==" in line and not requirement.extras:
            continue  # most lines, and parsing is what costs
        with contextlib.suppress(InvalidRequirement):  # old distributions have what today's standard refuses
            needs.append(Requirement(line))
    extras = ["", *requirement.extras]
    return [need for need in needs if need.marker is None or any(need.marker.evaluate({"extra": e}) for e in extras)]


@functools.cache
def _entries(name: str) -> tuple[Path, ...]:
    try:
        distribution = metadata.distribution(name)
    except metadata.PackageNotFoundError:
        return ()
    record = distribution.read_text("RECORD") or distribution.read_text("top_level.txt") or ""
    tops = {line.split("/", 1)[0].split(",", 1)[0].strip('"') for line in record.splitlines() if line}
    places = [Path(str(distribution.locate_file(top))) for top in sorted(tops - {"..", "__pycache__"})]
    return tuple(place for place in places if place.exists() and place.suffix != ".pth")


def engine_files(engine: Path) -> list[str]:
    """The engine's files that run on the untrusted side, relative to the package `grading`."""
    return [name for name in ("__init__.py", *ENGINE_FILES) if (engine / name).is_file()]


def engine_binds(engine: Path) -> list[str]:
    args = folders(f"{ENGINE}/grading/sandbox")
    for name in engine_files(engine):
        args += ["--ro-bind", str(engine / name), f"{ENGINE}/grading/{name}"]
    return args


def gpu_devices() -> list[Path]:
    """The NVIDIA device files of this machine: the cards, and what the driver's library opens beside them."""
    return [path for path in sorted(Path("/dev").glob("nvidia*")) if path.is_char_device()]


def device_binds() -> list[str]:
    return [arg for path in gpu_devices() for arg in ("--dev-bind", str(path), str(path))]


def folders(*paths: str) -> list[str]:
    """Folders with all their parents, open to every uid: bwrap makes missing parents for root alone."""
    args = []
    for path in paths:
        for folder in [*reversed(Path(path).parents[:-1]), Path(path)]:
            args += ["--perms", "0755", "--dir", str(folder)]
    return args
