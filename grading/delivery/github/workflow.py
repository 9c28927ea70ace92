"""The runner's side channels: step outputs, the step summary, and lines of a log that nobody else's text can steer."""

import contextlib
import os
import re
import secrets
import sys
from collections.abc import Iterator
from pathlib import Path

from grading.feedback.escape import visible

MOST_SUMMARY = 1_000_000  # bytes; GitHub takes 1 MiB a step
PLAIN = re.compile(r"[\w ./:@-]{0,200}")


def output(name: str, value: str) -> None:
    """Set a step's output. `value` is ours and plain: a line break in it could set another output."""
    if not PLAIN.fullmatch(value):
        raise ValueError(f"output {name} is not plain")
    _append("GITHUB_OUTPUT", f"{name}={value}\n")


def summary(markdown: str) -> None:
    """Add to the page of the run."""
    _append("GITHUB_STEP_SUMMARY", markdown.encode()[:MOST_SUMMARY].decode("utf-8", "ignore") + "\n")


def _append(variable: str, text: str) -> None:
    if path := os.environ.get(variable):
        with Path(path).open("a", encoding="utf-8") as file:
            file.write(text)


def notice(text: str) -> None:
    print(f"::notice::{_one_line(text)}", flush=True)


def warning(text: str) -> None:
    print(f"::warning::{_one_line(text)}", flush=True)


def error(text: str) -> None:
    print(f"::error::{_one_line(text)}", flush=True)


def _one_line(text: str) -> str:
    return " ".join(visible(text).split()).replace("%", "%25")


@contextlib.contextmanager
def quoting() -> Iterator[None]:
    """What is printed inside is text: the runner obeys no command in it, since nobody can guess how it ends."""
    token = secrets.token_hex(16)
    print(f"::stop-commands::{token}", flush=True)
    try:
        yield
    finally:
        sys.stdout.flush()
        print(f"\n::{token}::", flush=True)
