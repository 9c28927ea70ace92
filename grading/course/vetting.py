"""What a submitted file may be: UTF-8 text that parses. Bytes in, sentences out; nothing of it is run here."""

import codecs
import io
import json
import re
import subprocess
import sys
import tokenize
import unicodedata
from dataclasses import dataclass

from grading.course.spans import NEWLINE

LIMIT = 256 * 1024  # bytes of one file
DEPTH = 200  # nesting of a syntax tree that every reader of it can walk
PARSE_S = 20.0  # seconds, for all files together

BOM = "\ufeff"
COOKIE = re.compile(rb"^[ \t\f]*#.*?coding[:=][ \t]*([-\w.]+)")  # PEP 263
COMMENT = re.compile(rb"^[ \t\f]*(?:#.*)?$", re.DOTALL)
BIDI = re.compile("[\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]")
LOOKALIKES = set("аеорсухіјѕԁһАВЕКМНОРСТХоΑΒΕΖΗΙΚΜΝΟΡΤΥΧο")  # Cyrillic and Greek letters drawn as Latin ones are

# Runs in a process of its own: a parser that dies, loops or eats memory takes that process with it.
PARSER = """
import ast, json, resource, sys
resource.setrlimit(resource.RLIMIT_AS, (1 << 30, 1 << 30))
resource.setrlimit(resource.RLIMIT_CPU, (8, 8))
resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
def judge(text):
    try:
        level = [ast.parse(text)]
    except SyntaxError as error:
        return "deep" if "too many nested paren" in str(error) else "fine"
    except (RecursionError, MemoryError):
        return "deep"
    for depth in range(DEPTH):
        level = [child for node in level for child in ast.iter_child_nodes(node)]
        if not level:
            return "fine"
    return "deep"
import warnings
warnings.simplefilter("ignore")
print("ready", flush=True)
for text in json.load(sys.stdin):
    print(judge(text), flush=True)
"""


@dataclass(frozen=True)
class Refusal:
    """Why a file is not taken, or (as a warning) what a reviewer should look at. `line` counts as Python does."""

    path: str
    line: int | None
    reason: str


def vet(blobs: dict[str, bytes]) -> list[Refusal]:
    """The first thing wrong with each file; [] where all can be graded. A plain syntax error is not refused."""
    found = [refusal for path, blob in blobs.items() if (refusal := _text_refusal(path, blob))]
    texts = {path: blob.decode("utf-8-sig") for path, blob in blobs.items() if path not in {one.path for one in found}}
    reason = f"cannot be parsed: it is nested too deeply (more than {DEPTH} levels); write it in smaller steps"
    return found + [Refusal(path, None, reason) for path in _unparsable(texts)]


def too_big(path: str, size: int) -> Refusal | None:
    if size <= LIMIT:
        return None
    return Refusal(
        path, None, f"the file has {size:,} bytes and the limit is {LIMIT:,}; commit the code only, data does not go in"
    )


def warn(path: str, text: str) -> list[Refusal]:
    """Lines that do not read as they run: bidi controls, names with letters that look like others."""
    if text.isascii():
        return []
    return _bidi(path, text) + _lookalikes(path, text)


def _text_refusal(path: str, blob: bytes) -> Refusal | None:
    if blob.startswith(b"version https://git-lfs"):
        return Refusal(path, 1, "this is a Git LFS pointer; run `git lfs untrack` for it and commit the file itself")
    try:
        text = blob.decode("utf-8")
    except UnicodeDecodeError as error:
        line = len(NEWLINE.findall(blob[: error.start].decode("latin-1"))) + 1
        return Refusal(path, line, "this is not UTF-8 text; save the file as UTF-8 source code")
    if "\0" in text:
        return Refusal(path, _line(text, text.index("\0")), "there is a NUL character here; delete it")
    if (at := text.find(BOM, 1)) > 0:
        return Refusal(path, _line(text, at), "there is a byte order mark inside the file; delete it")
    return _cookie(path, blob)


def _cookie(path: str, blob: bytes) -> Refusal | None:
    """Python decodes by the cookie of line 1 or 2; we by UTF-8. Both must read the same code."""
    lines = re.split(rb"\r\n|\r|\n", blob.removeprefix(codecs.BOM_UTF8), maxsplit=2)[:2]
    for number, line in enumerate(lines, 1):
        if match := COOKIE.match(line):
            name = match[1].decode("ascii", "replace")
            if _is_utf8(name):
                return None
            return Refusal(
                path, number, f"the file declares the coding '{name}'; save it as UTF-8 and delete this line"
            )
        if not COMMENT.match(line):
            return None
    return None


def _is_utf8(name: str) -> bool:
    try:
        return codecs.lookup(name).name == "utf-8"
    except LookupError:
        return False


def _unparsable(texts: dict[str, str]) -> list[str]:
    """The paths whose text a parser does not survive. One process for all; one more behind each that it died of."""
    waiting, bad = list(texts), []
    while waiting:
        said = _parse_apart([texts[path] for path in waiting])
        bad += [path for path, word in zip(waiting, said, strict=False) if word != "fine"]
        if len(said) < len(waiting):
            bad.append(waiting[len(said)])
        waiting = waiting[len(said) + 1 :]
    return bad


def _parse_apart(texts: list[str]) -> list[str]:
    """A word for each text, as far as the parser came. OSError where it did not start, which is our fault."""
    program = PARSER.replace("DEPTH", str(DEPTH))
    command = [sys.executable, "-I", "-S", "-c", program]
    try:
        done = subprocess.run(command, input=json.dumps(texts).encode(), capture_output=True, timeout=PARSE_S, env={})
        said = done.stdout
    except subprocess.TimeoutExpired as late:
        said = late.stdout or b""
    ready, *words = said.decode().split() or [""]
    if ready != "ready":
        raise OSError("the process that parses submissions did not start")
    return words


def _bidi(path: str, text: str) -> list[Refusal]:
    lines = dict.fromkeys(_line(text, match.start()) for match in BIDI.finditer(text))
    reason = "this line has invisible characters that change the direction of text: it may not read as it runs"
    return [Refusal(path, line, reason) for line in lines]


def _lookalikes(path: str, text: str) -> list[Refusal]:
    found: dict[tuple[int, str], None] = {}
    try:
        for token in tokenize.generate_tokens(io.StringIO(text.removeprefix(BOM), newline=None).readline):
            if token.type == tokenize.NAME and not token.string.isascii() and _misleading(token.string):
                found[token.start[0], token.string] = None
    except (tokenize.TokenError, SyntaxError):
        pass  # the rest of a broken file is not read by Python either
    return [Refusal(path, line, f"the name {name!a} is not what it looks like: {name}") for line, name in found]


def _misleading(name: str) -> bool:
    """Other to Python than to the eye: folded to another name, of mixed scripts, or of lookalikes only."""
    scripts = {unicodedata.name(letter, "?").split()[0] for letter in name if letter.isalpha()}
    folded = unicodedata.normalize("NFKC", name) != name
    return folded or len(scripts) > 1 or all(letter in LOOKALIKES for letter in name if letter.isalpha())


def _line(text: str, offset: int) -> int:
    return len(NEWLINE.findall(text[:offset])) + 1
