"""The stage of one grading: which trees there are, and a jail for each that is asked for."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from grading.judge.sandbox import Sandbox
from grading.sandbox.jail import JailSpec
from grading.sandbox.spec import Recipe

if TYPE_CHECKING:
    from grading.course.catalog import Limits


@dataclass
class Stage:
    """The jails of one grading: the submission's and, once asked for, the reference's, each started once."""

    limits: Limits
    trees: dict[str, Path]  # "submission", "reference"
    packages: list[str]
    preload: list[str]
    files: bool
    env: dict[str, str]
    jailed: bool
    recipes: dict[str, list[Recipe]] = field(default_factory=dict)  # by side, for a Mainline seal
    gpu: bool = False  # the tests marked `gpu`, and the devices in the jails
    seed: int = 0
    engine: Path = Path(__file__).parents[1]
    sandboxes: dict[str, Sandbox] = field(default_factory=dict)
    deadline: float = float("inf")
    alone: bool = False  # keep other gradings out of this machine while a probe runs
    timeouts: int = 2  # so many tests may run out of time; what follows is not run

    def sandbox(self, side: str) -> Sandbox:
        if side not in self.sandboxes:
            recipes = self.recipes.get(side, [])
            told = (self.packages, self.limits, self.files, self.env, recipes, self.gpu)
            spec = JailSpec(self.trees[side], self.engine, *told)
            self.sandboxes[side] = Sandbox(spec, self.preload, self.jailed)
        return self.sandboxes[side]

    def close(self) -> None:
        for sandbox in self.sandboxes.values():
            sandbox.close()
