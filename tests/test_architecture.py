"""The arrows of docs/architecture.md: imports go down, mini_infra stands alone, the wheel is the engine alone."""

import ast
import shutil
import subprocess
import sys
import tomllib
import zipfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from grading.sandbox.binds import ENGINE_FILES

ROOT = Path(__file__).resolve().parents[1]
ROOMS = ["cli", "authoring", "delivery", "feedback", "judge", "sandbox", "course"]  # each may import what follows it
IMPORTS_BY_NAME = {"importlib", "runpy", "pkgutil", "imp"}


def imports(path: Path) -> Iterator[tuple[int, str]]:
    """(line, dotted name) of every import, also those inside functions; a relative one begins with a dot."""
    for node in ast.walk(ast.parse(path.read_bytes())):
        if isinstance(node, ast.Import):
            yield from ((node.lineno, alias.name) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            base = "." * node.level + (node.module or "")
            yield from ((node.lineno, f"{base}.{alias.name}") for alias in node.names)


def files(folder: str) -> list[Path]:
    return sorted((ROOT / folder).rglob("*.py"))


def test_the_rooms_are_these():
    found = {path.parent.name for path in (ROOT / "grading").glob("*/__init__.py")}
    assert found == set(ROOMS)


@pytest.mark.parametrize("room", ROOMS)
def test_imports_go_down(room):
    above = [f"grading.{name}" for name in ROOMS[: ROOMS.index(room)]]
    wrong = [
        f"{path.relative_to(ROOT)}:{line}: {name}"
        for path in files(f"grading/{room}")
        for line, name in imports(path)
        if name.startswith(".") or ".".join(name.split(".")[:2]) in above
    ]
    assert wrong == []


def test_what_is_bound_into_the_jail_needs_nothing_else_of_the_engine():
    bound = {f"grading.{name[:-3].replace('/', '.')}" for name in ENGINE_FILES}
    wrong = [
        f"{path}:{line}: {name}"
        for path in ENGINE_FILES
        for line, name in imports(ROOT / "grading" / path)
        if name.startswith("grading") and not any(name == one or name.startswith(f"{one}.") for one in bound)
    ]
    assert wrong == []


def test_a_test_authors_module_stands_on_no_room():
    assert [name for _, name in imports(ROOT / "grading" / "lab.py") if name.startswith((".", "grading"))] == []


def test_mini_infra_imports_itself_by_its_full_name():
    inside = {path.name for path in (ROOT / "mini_infra").iterdir() if path.is_dir()}
    wrong = [
        f"{path.relative_to(ROOT)}:{line}: {name}"
        for path in files("mini_infra")
        for line, name in imports(path)
        if name.startswith(".") or name.split(".")[0] in IMPORTS_BY_NAME | {"grading"} | (inside - {"torch"})
    ]
    assert wrong == []


def test_mini_infra_has_empty_inits_everywhere():
    sources = files("mini_infra")
    assert [path for path in sources if not (path.parent / "__init__.py").is_file()] == []
    assert [path for path in sources if path.name == "__init__.py" and path.stat().st_size] == []


def test_the_wheel_holds_the_engine_alone(tmp_path):
    """What `pip install` brings onto a lab branch must not bring the answers along."""
    source = tmp_path / "source"
    source.mkdir()
    for name in ("grading", "mini_infra", "challenges", "scripts", "tests"):
        shutil.copytree(ROOT / name, source / name, ignore=shutil.ignore_patterns("__pycache__"))
    for name in ("pyproject.toml", "README.md", "LICENSE"):
        shutil.copy(ROOT / name, source)
    build = "from setuptools.build_meta import build_wheel; build_wheel('..')"
    subprocess.run([sys.executable, "-c", build], cwd=source, check=True, capture_output=True)
    with zipfile.ZipFile(*tmp_path.glob("mainline-*.whl")) as wheel:
        names = wheel.namelist()
    version = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["version"]
    assert {name.split("/")[0] for name in names} == {"grading", f"mainline-{version}.dist-info"}
    assert {"grading/cli/main.py", "grading/lab.py", "grading/judge/report.schema.json"} <= set(names)
