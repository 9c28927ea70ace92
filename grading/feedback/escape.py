"""The one escape for strings that a learner controls: messages, paths, source lines, printed output.

Three places a string can stand in, three functions: a terminal line (`visible`), Markdown prose (`inline`),
and Markdown code (`code` for a span, `fence` for a block). All of them go through `visible` first.
"""

import re
import unicodedata

ZERO_WIDTH = "\u200b"
KEPT = "\n\t\u200b\u200d"  # line breaks, tabs, our own zero-width space, the joiner inside emoji
UNSEEN = {"Cc", "Cf", "Cs", "Zl", "Zp"}  # controls, format characters (bidi), lone surrogates, separators
LINK = re.compile(r":(?=//)|\bwww(?=\.)|#(?=\d)|\bGH(?=-\d)|\b(?:mailto|javascript|data|xmpp)(?=:)", re.IGNORECASE)
COMMAND = re.compile(  # of a GitHub runner, at the beginning of a line of a log; a wrap can put it there
    r"(?<=:)(?=:(?:add-(?:mask|matcher|path)|debug|echo|(?:end)?group|error|notice|remove-matcher|save-state"
    r"|set-(?:env|output)|stop-commands|warning)\b)|(?<=##)(?=\[)",
    re.IGNORECASE,
)
MARKDOWN = re.compile(r"([\\`*_\[\]|~>$]|^[#+\-=]|(?<=^\d)[.)])")


def visible(text: str) -> str:
    """`text` with every character that moves the cursor or hides something shown as \\x1b, \\u202e, …

    A command to the runner of a CI job (`::add-mask::x`, `##[group]`) is broken by a zero-width space.
    """
    text = COMMAND.sub(ZERO_WIDTH, text)
    if text.isprintable():
        return text
    return "".join(char if char.isprintable() else _shown(char) for char in text.replace("\r\n", "\n"))


def _shown(char: str) -> str:
    if char in KEPT or unicodedata.category(char) not in UNSEEN:
        return char
    point = ord(char)
    return f"\\x{point:02x}" if point < 0x100 else f"\\u{point:04x}" if point < 0x10000 else f"\\U{point:08x}"


def clip(text: str, limit: int) -> str:
    """`visible(text)` cut to `limit` characters; the cut says how much is missing."""
    shown = visible(text[: 2 * limit + 1])  # nothing gets shorter but \r\n, by half
    return shown if len(shown) <= limit else f"{shown[:limit]} … (cut)"


def unmention(text: str) -> str:
    """A zero-width space after each @ that could start a mention or end the name in an address; @@ does neither."""
    return re.sub(r"@(?=[^\s@])", "@" + ZERO_WIDTH, text)


def inline(text: str, limit: int = 400) -> str:
    """`text` as one line of Markdown prose: no markup, no HTML, no link, no mention, no issue reference."""
    line = " ".join(clip(text, limit).split())
    line = MARKDOWN.sub(r"\\\1", LINK.sub(lambda found: found[0] + ZERO_WIDTH, line))
    return unmention(line.replace("&", "&amp;").replace("<", "&lt;").replace("\\>", "&gt;"))


def code(text: str, limit: int = 200) -> str:
    """`text` as a code span, in more backticks than any run inside it."""
    line = unmention(" ".join(clip(text, limit).split())) or " "
    ticks = "`" * (_longest_run(line) + 1)
    pad = " " if line.startswith("`") or line.endswith("`") else ""
    return f"{ticks}{pad}{line}{pad}{ticks}"


def fence(text: str, limit: int = 8000, language: str = "text") -> str:
    """`text` as a fenced block, its fence longer than any run of backticks inside."""
    body = unmention(clip(text, limit)).rstrip("\n")
    ticks = "`" * max(3, _longest_run(body) + 1)
    return f"{ticks}{language}\n{body}\n{ticks}"


def _longest_run(text: str) -> int:
    return max((len(run) for run in re.findall(r"`+", text)), default=0)
