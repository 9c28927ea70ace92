"""The grammar of what people may ask for in a pull request's comments."""

import re
from dataclasses import dataclass

MOST = 2000  # characters of a comment that can be a command
WORD = re.compile(r"[a-z0-9][a-z0-9_-]{0,40}")
USAGE = {
    "hint": "`/hint` or `/hint TOPIC`",
    "solution": "`/solution`",
    "regrade": "`/regrade`",
    "exam": "`/exam start`, `/exam pass NOTE` or `/exam fail NOTE`",
    "help": "`/help`",
}
HELP = """\
| command | who | what |
|---|---|---|
| `/hint`, `/hint TOPIC` | author, maintainers | the next hint on what fails, or on a topic |
| `/solution` | author, maintainers | the reference, after a PASS or enough attempts |
| `/regrade` | author, maintainers | grade this commit again, with another seed; no attempt is counted |
| `/exam start` | author, maintainers | the five questions of the oral exam, and its protocol |
| `/exam pass NOTE`, `/exam fail NOTE` | maintainers | record how the exam went; nothing is merged |
| `/help` | author, maintainers | this table |"""


class UsageError(Exception):
    """A comment that begins like a command and is none; the message is one line of Markdown, all of it ours."""


@dataclass(frozen=True)
class Asked:
    """A command: `name` is a key of USAGE, `step` that of an exam, `text` what follows."""

    name: str
    step: str = ""
    text: str = ""


def parse(body: str) -> Asked | None:
    """The command that a whole comment is; None for an ordinary comment, UsageError for a wrong one."""
    line = body.strip()
    if not line.startswith("/"):
        return None
    name, _, rest = line[1:].partition(" ")
    if len(line) > MOST or "\n" in line or name not in USAGE:
        raise UsageError(f"No such command. A comment that is one: {', '.join(USAGE.values())}.")
    rest = rest.strip()
    if name == "hint" and (not rest or WORD.fullmatch(rest)):
        return Asked(name, text=rest)
    step, _, note = rest.partition(" ")
    if name == "exam" and (step in ("pass", "fail") or (step == "start" and not note)):
        return Asked(name, step, note.strip())
    if name in ("solution", "regrade", "help") and not rest:
        return Asked(name)
    raise UsageError(f"Not like that: {USAGE[name]}.")
