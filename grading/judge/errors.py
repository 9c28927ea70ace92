"""What can go wrong in a grading: the learner's failure, the judge's own trouble, and a test that was not run."""

from typing import Any


class InfraError(RuntimeError):
    """The engine's own side broke: no verdict can be given."""


class Failure(AssertionError):
    """A test fails, as data: `kind` is its line in the fingerprint, `details` are fields of TestResult."""

    def __init__(self, kind: str, message: str, **details: Any):
        super().__init__(message)
        self.kind = kind
        self.message = message
        self.details = details


class NotRun(Exception):
    """The grading's time is used up, or two tests have timed out already."""
