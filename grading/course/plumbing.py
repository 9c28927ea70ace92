"""Git by plumbing alone: trees and blobs as bytes. No checkout, no filter, no hook, nobody's configuration."""

import hashlib
import os
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

# Every git process starts from these alone: what a learner sets in a repository or a shell has no say.
ENVIRONMENT = {
    "PATH": os.environ.get("PATH", os.defpath),
    "HOME": "/nonexistent",
    "LC_ALL": "C",
    "GIT_CONFIG_NOSYSTEM": "1",
    "GIT_CONFIG_GLOBAL": os.devnull,
    "GIT_ATTR_NOSYSTEM": "1",
    "GIT_NO_REPLACE_OBJECTS": "1",
    "GIT_NO_LAZY_FETCH": "1",
    "GIT_TERMINAL_PROMPT": "0",
    "GIT_OPTIONAL_LOCKS": "0",
}
# The repository may belong to another user (a hub, a runner's checkout): only objects are read from it.
OPTIONS = ["-c", "safe.directory=*", "-c", "core.fsmonitor=false", "--no-replace-objects", "--literal-pathspecs"]


MOST_NBYTES = 16 << 20  # of a listing: names can be long, and each folder repeats those above it


class GitError(Exception):
    """git said no; the message is git's own last line."""


class TooManyEntries(Exception):
    """A tree lists more than it may: a kilobyte of trees of trees can stand for more paths than memory holds."""


@dataclass(frozen=True)
class Entry:
    """One line of a tree. `path` is git's bytes decoded with surrogateescape; `size` is None but for blobs."""

    mode: str
    kind: str  # blob, tree or commit
    sha: str
    size: int | None
    path: str


class Repository:
    """A repository, bare or not, that only objects are read from."""

    def __init__(self, folder: Path):
        self.folder = Path(folder)

    def git(self, *args: str, stdin: bytes = b"") -> bytes:
        """Standard output of one git command. GitError where it fails."""
        command = ["git", *OPTIONS, *args]
        try:
            done = subprocess.run(command, cwd=self.folder, env=ENVIRONMENT, input=stdin, capture_output=True)
        except (OSError, ValueError) as error:  # ValueError: NUL in an argument
            raise GitError(f"git did not start: {error}") from None
        if done.returncode:
            said = done.stderr.decode(errors="replace").strip().splitlines()
            raise GitError(said[-1] if said else f"git {args[0]} failed")
        return done.stdout

    def text(self, *args: str) -> str:
        return self.git(*args).decode(errors="surrogateescape").strip()

    def common_dir(self) -> Path:
        """The git directory that all work trees share, absolute."""
        return (self.folder / self.text("rev-parse", "--git-common-dir")).resolve()

    def peel(self, name: str, kind: str = "commit") -> str:
        """Full SHA of what `name` stands for. GitError where it is no such thing."""
        return self.text("rev-parse", "--verify", "--quiet", "--end-of-options", f"{name}^{{{kind}}}")

    def is_ancestor(self, old: str, new: str) -> bool:
        """Whether the history of `new` holds `old`; False where that cannot be told (a shallow clone)."""
        try:
            self.git("merge-base", "--is-ancestor", old, new)
        except GitError:
            return False
        return True

    def entries(self, tree: str, *, recursive: bool = True, most: int | None = None) -> list[Entry]:
        """What a tree holds: blobs, links and submodules (with `recursive` False: its own lines only).

        TooManyEntries where there are over `most` of them, folders counted; the reading stops there.
        """
        flags = ["-r", "-t"] if recursive else []  # folders too: a bomb of empty ones would say nothing for ever
        command = ["ls-tree", "-z", "-l", "--full-tree", *flags, "--end-of-options", tree]
        found = [_entry(line) for line in self._lines(command, most)]
        return [one for one in found if one.kind != "tree"] if recursive else found

    def _lines(self, command: list[str], most: int | None) -> Iterator[bytes]:
        """What one git command writes, cut at NUL, as it comes. GitError where it fails."""
        options = {"cwd": self.folder, "env": ENVIRONMENT, "stdin": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
        with subprocess.Popen(["git", *OPTIONS, *command], stdout=subprocess.PIPE, **options) as process:
            try:
                count, nbytes, rest = 0, 0, b""
                while chunk := process.stdout.read1(1 << 16):
                    *lines, rest = (rest + chunk).split(b"\0")
                    count, nbytes = count + len(lines), nbytes + len(chunk)
                    if most is not None and (count > most or nbytes > MOST_NBYTES):
                        raise TooManyEntries
                    yield from lines
            except BaseException:
                process.kill()
                raise
        if process.returncode:
            raise GitError(f"git {command[0]} failed")

    def sizes(self, names: list[str]) -> dict[str, tuple[str, int] | None]:
        """(SHA, size) of the blob behind each name, as git itself walks there; None where it finds none."""
        lines = self.git("cat-file", "--batch-check", stdin="".join(f"{name}\n" for name in names).encode())
        found = [line.split() for line in lines.decode(errors="replace").splitlines()]
        blobs = [(one[0], int(one[2])) if one[1:2] == ["blob"] else None for one in found]
        return dict(zip(names, blobs, strict=True))

    def blobs(self, shas: list[str]) -> dict[str, bytes]:
        """The content of many blobs by one process."""
        out = self.git("cat-file", "--batch", "--buffer", stdin="".join(f"{sha}\n" for sha in shas).encode())
        found, at = {}, 0
        for sha in shas:
            header_end = out.index(b"\n", at)
            if out[at:header_end].endswith(b" missing"):
                raise GitError(f"{sha} is not in this repository")
            size = int(out[at:header_end].split()[2])
            found[sha] = out[header_end + 1 : header_end + 1 + size]
            at = header_end + size + 2
        return found


def blob_sha(content: bytes, digits: int = 40) -> str:
    """The name that git gives a blob, in a repository whose names have so many hex digits (40 or 64)."""
    digest = hashlib.sha1 if digits == 40 else hashlib.sha256
    return digest(b"blob %d\0" % len(content) + content).hexdigest()


def _entry(line: bytes) -> Entry:
    meta, path = line.split(b"\t", 1)
    mode, kind, sha, size = meta.decode().split()
    return Entry(mode, kind, sha, int(size) if size.isdigit() else None, path.decode(errors="surrogateescape"))
