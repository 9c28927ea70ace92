"""Git by plumbing alone: trees and blobs as bytes. No checkout, no filter, no hook, nobody's configuration."""

import hashlib
import os
import subprocess
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


class GitError(Exception):
    """git said no; the message is git's own last line."""


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

    def entries(self, tree: str, *, recursive: bool = True) -> list[Entry]:
        """Every blob, link and submodule of a tree (with `recursive` False: its own lines only)."""
        flags = ["-r"] if recursive else []
        lines = self.git("ls-tree", "-z", "-l", "--full-tree", *flags, "--end-of-options", tree).split(b"\0")
        return [_entry(line) for line in lines if line]

    def blobs(self, shas: list[str]) -> dict[str, bytes]:
        """The content of many blobs by one process."""
        out = self.git("cat-file", "--batch", "--buffer", stdin="".join(f"{sha}\n" for sha in shas).encode())
        found, at = {}, 0
        for sha in shas:
            header_end = out.index(b"\n", at)
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
