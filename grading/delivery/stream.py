"""A git fast-import stream, built in memory: each distinct blob once, commits with fixed identities."""

import re
from dataclasses import dataclass, field

from grading.delivery.plumbing import Tree, blob_id

_UNQUOTED = re.compile(r"[A-Za-z0-9_./+-]+")


def quote(path: str) -> bytes:
    """A path as fast-import wants it: C-quoted unless it is plain."""
    if _UNQUOTED.fullmatch(path):
        return path.encode()
    return b'"' + path.encode().replace(b"\\", b"\\\\").replace(b'"', b'\\"').replace(b"\n", b"\\n") + b'"'


@dataclass
class Stream:
    """Commands in order; `finish()` is what git reads. `who` is "Name <mail>", dates are Unix seconds UTC."""

    who: str
    parts: list[bytes] = field(default_factory=lambda: [b"feature done\n"])
    marks: dict[str, int] = field(default_factory=dict)

    def commit(self, ref: str, message: str, date: int, tree: Tree, parent: str | None = None) -> None:
        """A commit of exactly `tree` on `ref`; without a parent it continues this stream's `ref`, or is a root."""
        blobs = {path: self._blob(content) for path, content in sorted(tree.items())}
        self._head(ref, message, date, parent)
        self.parts.append(b"deleteall\n")
        self.parts += [b"M 100644 :%d %s\n" % (mark, quote(path)) for path, mark in blobs.items()]

    def note(self, ref: str, message: str, date: int, target: str, content: bytes, parent: str | None) -> None:
        """Set the git note of commit `target` in the notes tree on `ref`."""
        mark = self._blob(content)
        self._head(ref, message, date, parent)
        self.parts.append(b"N :%d %s\n" % (mark, target.encode()))

    def finish(self) -> bytes:
        return b"".join([*self.parts, b"done\n"])

    def _blob(self, content: bytes) -> int:
        key = blob_id(content)
        if key not in self.marks:
            self.marks[key] = len(self.marks) + 1
            self.parts.append(b"blob\nmark :%d\n%s" % (self.marks[key], _data(content)))
        return self.marks[key]

    def _head(self, ref: str, message: str, date: int, parent: str | None) -> None:
        self.parts.append(b"commit %s\n" % ref.encode())
        self.parts.append(b"committer %s %d +0000\n" % (self.who.encode(), date))
        self.parts.append(_data(message.encode()))
        if parent:
            self.parts.append(b"from %s\n" % parent.encode())


def _data(content: bytes) -> bytes:
    return b"data %d\n%s\n" % (len(content), content)
