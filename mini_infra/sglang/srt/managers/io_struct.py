"""Requests to the engine and their answers."""

from dataclasses import dataclass


@dataclass
class ReleaseMemoryOccupationReqInput:
    """Give back the memory of these tags; None or an empty list: of all."""

    tags: list[str] | None = None


@dataclass
class ReleaseMemoryOccupationReqOutput:
    """It is given back."""


@dataclass
class ResumeMemoryOccupationReqInput:
    """Take the memory of these tags again; None or an empty list: of all."""

    tags: list[str] | None = None


@dataclass
class ResumeMemoryOccupationReqOutput:
    """It is there again."""
