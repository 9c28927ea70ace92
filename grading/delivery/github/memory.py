"""What a pull request remembers: attempts, hints that were asked for, the oral exam.

It stands in a hidden line of the bot's own comment, and again in each check run, from which it is rebuilt when the
comment is gone. Nothing that a learner can edit is ever read back.
"""

import base64
import binascii
import re
import zlib

from pydantic import Field, ValidationError

from grading.feedback.advice import Attempt
from grading.judge.report import Model

BLOCK = re.compile(r"<!-- labs:state ([A-Za-z0-9+/=]+) -->")
MOST_ATTEMPTS = 40  # of the newest; the number of an attempt goes on counting
MOST_BYTES = 100_000


class Outcome(Model):
    """An oral exam that was held: by whom, when (ISO 8601 UTC), on which commit."""

    passed: bool
    examiner: str
    when: str
    commit: str
    note: str = ""


class Memory(Model):
    """Of one pull request, for one lab."""

    lab: str
    head: str = Field(default="", description="the commit of the verdict that the comment shows")
    attempts: list[Attempt] = Field(default=[])
    hints: dict[str, int] = Field(default={}, description="topic: highest level asked for")
    solution: str = Field(default="", description="when the reference was shown")
    exam: Outcome | None = None
    regraded: str = Field(default="", description="when a new run was last asked for, ISO 8601 UTC")

    def before(self, commit: str) -> list[Attempt]:
        """The attempts before `commit`: a commit that is graded again is still one attempt."""
        return [one for one in self.attempts if one.commit != commit]

    def with_attempt(self, attempt: Attempt) -> "Memory":
        """Remember a graded commit, in its old place where it was graded before."""
        old = next((one for one in self.attempts if one.commit == attempt.commit), None)
        number = old.n if old else 1 + max((one.n for one in self.attempts), default=0)
        numbered = attempt.model_copy(update={"n": number})
        kept = sorted([*self.before(attempt.commit), numbered], key=lambda one: one.n)[-MOST_ATTEMPTS:]
        return self.model_copy(update={"attempts": kept})

    @property
    def tries(self) -> int:
        return max((one.n for one in self.attempts), default=0)

    def passed(self, seal: str = "patch", commit: str | None = None) -> bool:
        """Whether a commit (this one, or any) has earned the seal."""
        won = [one for one in self.attempts if one.verdict == "PASS" and one.counts and one.seal == seal]
        return any(commit in (None, one.commit) for one in won)

    def block(self) -> str:
        """The memory as one line that Markdown does not show."""
        packed = zlib.compress(self.model_dump_json().encode(), 9)
        return f"<!-- labs:state {base64.b64encode(packed).decode()} -->"


def parse(text: str) -> Memory | None:
    """The memory in a text of the bot's; None when it has none, or a damaged one."""
    found = BLOCK.findall(text)
    try:
        return Memory.model_validate_json(_unpacked(found[-1])) if found else None
    except (ValidationError, binascii.Error, zlib.error, ValueError):
        return None


def _unpacked(block: str) -> bytes:
    unpacker = zlib.decompressobj()
    content = unpacker.decompress(base64.b64decode(block, validate=True), MOST_BYTES)
    if unpacker.unconsumed_tail:
        raise ValueError("too large")
    return content
