"""git's proc-receive protocol, version 1: pkt-lines in, one answer a command out (gitprotocol-common, githooks)."""

import re
from dataclasses import dataclass, field
from typing import BinaryIO

FLUSH = b"0000"
MAX_LINE = 65_520
MOST_LINES = 10_000
HEADER = re.compile(rb"[0-9a-fA-F]{4}")
COMMAND = re.compile(r"([0-9a-f]{40,64}) ([0-9a-f]{40,64}) (.+)", re.DOTALL)


class ProtocolError(Exception):
    """git did not speak version 1 of the protocol, or stopped in the middle."""


@dataclass(frozen=True)
class Command:
    """One ref of a push: move `ref` from `old` to `new` (40 zeros: not there / delete)."""

    old: str
    new: str
    ref: str


@dataclass(frozen=True)
class Answer:
    """`reason` set: refused. Else accepted, and shown to the pusher as `shown_as` when the hook made another ref."""

    command: Command
    reason: str = ""
    shown_as: str = ""

    def lines(self) -> list[str]:
        if self.reason:
            return [f"ng {self.command.ref} {self.reason}"]
        ok = [f"ok {self.command.ref}"]
        if self.shown_as:
            ok += [f"option refname {self.shown_as}", f"option new-oid {self.command.new}"]
        return ok


@dataclass
class Conversation:
    """The hook's side of one push over `source` (git speaks) and `sink` (we answer)."""

    source: BinaryIO
    sink: BinaryIO
    options: dict[str, str] = field(default_factory=dict)

    def commands(self) -> list[Command]:
        """Shake hands, then every command of the push; the push options land in `options`."""
        wants_options = self._shake_hands()
        commands = [_command(line) for line in self._section()]
        if wants_options:
            self.options = dict(line.partition("=")[::2] for line in self._section())
        return commands

    def reply(self, answers: list[Answer]) -> None:
        for answer in answers:
            for line in answer.lines():
                self._write(line)
        self.sink.write(FLUSH)
        self.sink.flush()

    def _shake_hands(self) -> bool:
        hello = self._section()
        version, _, features = (hello[0] if hello else "").partition("\0")
        if version != "version=1":
            raise ProtocolError(f"git offers {version!r}, this hook speaks version=1")
        wants_options = "push-options" in features.split()
        self._write("version=1\0push-options" if wants_options else "version=1")
        self.sink.write(FLUSH)
        self.sink.flush()
        return wants_options

    def _section(self) -> list[str]:
        lines = []
        while (line := self._read()) is not None:
            if len(lines) == MOST_LINES:
                raise ProtocolError(f"more than {MOST_LINES:,} commands or options in one push")
            lines.append(line)
        return lines

    def _read(self) -> str | None:
        header = self.source.read(4)
        if not HEADER.fullmatch(header):
            raise ProtocolError("git closed the conversation early" if len(header) < 4 else "no length of a pkt-line")
        length = int(header, 16)
        if length == 0:
            return None
        body = self.source.read(length - 4) if 4 <= length <= MAX_LINE else b""
        if len(body) != length - 4:
            raise ProtocolError("a pkt-line was cut short")
        return body.decode(errors="surrogateescape").removesuffix("\n")

    def _write(self, line: str) -> None:
        body = line.encode(errors="surrogateescape")[: MAX_LINE - 4]
        self.sink.write(b"%04x" % (len(body) + 4) + body)


def _command(line: str) -> Command:
    match = COMMAND.fullmatch(line)
    if match is None:
        raise ProtocolError("a command that is not `old new ref`")
    return Command(*match.groups())
