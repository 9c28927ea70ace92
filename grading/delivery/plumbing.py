"""Git without a work tree: object ids, ref transactions, stale locks. GitPython is the façade, git does the work."""

import contextlib
import fcntl
import hashlib
import os
import tempfile
import time
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

import git

Tree = dict[str, bytes]  # POSIX path -> content
ZERO = "0" * 40
PATIENCE_S = 1.0  # a living git process holds the lock of a ref for milliseconds


class RefsMoved(Exception):
    """A ref was not where the transaction expected it; nothing was moved."""


@dataclass(frozen=True)
class RefUpdate:
    """One line of a transaction. `old` = ZERO: must not exist yet; `new` = ZERO: delete."""

    ref: str
    new: str
    old: str

    @property
    def command(self) -> str:
        if self.new == ZERO:
            return f"delete {self.ref} {self.old}"
        return f"update {self.ref} {self.new} {self.old}"


def open_repository(path: Path) -> git.Repo:
    """The repository at or above `path`; raises git.InvalidGitRepositoryError or git.NoSuchPathError."""
    return git.Repo(path, search_parent_directories=True)


def common_dir(repo: git.Repo) -> Path:
    """The git directory that all work trees of `repo` share."""
    return Path(repo.common_dir).resolve()


def forget_environment() -> None:
    """Drop the GIT_* variables that a hook or an alias hands down: they would redirect every later command."""
    keep = {"GIT_SSH", "GIT_SSH_COMMAND", "GIT_ASKPASS", "GIT_TERMINAL_PROMPT", "GIT_EXEC_PATH"}
    for name in [name for name in os.environ if name.startswith("GIT_")]:
        if name not in keep and not name.startswith(("GIT_AUTHOR_", "GIT_COMMITTER_", "GIT_CONFIG_")):
            del os.environ[name]


def is_commit(repo: git.Repo, sha: str) -> bool:
    with contextlib.suppress(git.GitCommandError):
        return repo.git.cat_file("-t", sha) == "commit"
    return False


def refs(repo: git.Repo, *prefixes: str) -> dict[str, tuple[str, str]]:
    """Ref name -> (commit, tree) of every ref under the prefixes."""
    listing = repo.git.for_each_ref("--format=%(refname) %(objectname) %(tree)", *prefixes)
    lines = [line.split(" ") for line in listing.splitlines()]
    return {name: (commit, tree) for name, commit, tree in lines}


def blob_id(content: bytes) -> str:
    return hashlib.sha1(b"blob %d\0" % len(content) + content, usedforsecurity=False).hexdigest()


def tree_id(tree: Tree) -> str:
    """The SHA that git gives to a tree of plain files, without writing an object."""
    entries: dict[str, tuple[bytes, str]] = {}
    folders: dict[str, Tree] = {}
    for path, content in tree.items():
        head, slash, rest = path.partition("/")
        if slash:
            folders.setdefault(head, {})[rest] = content
        else:
            entries[head] = (b"100644", blob_id(content))
    for name, inner in folders.items():
        entries[name] = (b"40000", tree_id(inner))
    # git sorts a folder as if its name ended in a slash
    order = sorted(entries, key=lambda name: name.encode() + (b"/" if name in folders else b""))
    body = b"".join(entries[n][0] + b" " + n.encode() + b"\0" + bytes.fromhex(entries[n][1]) for n in order)
    return hashlib.sha1(b"tree %d\0" % len(body) + body, usedforsecurity=False).hexdigest()


def read_blob(repo: git.Repo, spec: str) -> bytes | None:
    """The bytes behind `commit:path` or an object id; None when there is no such object."""
    try:
        return repo.git.cat_file("blob", spec, stdout_as_string=False, strip_newline_in_stdout=False)
    except git.GitCommandError:
        return None


def transaction(repo: git.Repo, updates: Iterable[RefUpdate]) -> None:
    """Move all the refs or none; RefsMoved when one is not at its `old` value."""
    lines = ["start", *(update.command for update in updates), "prepare", "commit"]
    try:
        _feed(repo.git.update_ref, "\n".join(lines).encode() + b"\n", "--stdin")
    except git.GitCommandError as error:
        raise RefsMoved(last_line(error)) from None


def fast_import(repo: git.Repo, stream: bytes) -> None:
    """Write the objects and refs of a fast-import stream; a broken stream moves no ref and leaves no file."""
    try:
        _feed(repo.git.fast_import, stream, "--quiet", "--done")
    finally:
        for crash in Path(repo.git_dir).glob("fast_import_crash_*"):
            crash.unlink(missing_ok=True)


@dataclass(frozen=True)
class Tag:
    """An annotated tag on a commit: the SHAs of the tag itself, of the commit, its tree and its parents."""

    name: str
    sha: str
    commit: str
    tree: str
    parents: list[str]
    subject: str
    body: str


def tag_at(repo: git.Repo, name: str) -> Tag | None:
    """The tag `name`; None where there is none, or one without annotation, of another name, or not on a commit."""
    parts = ("objectname", "tag", "*objecttype", "*objectname", "*tree", "*parent", "contents:subject", "contents:body")
    told = repo.git.for_each_ref("--format=" + "%00".join(f"%({part})" for part in parts), f"refs/tags/{name}")
    if not told:
        return None
    sha, *known, commit, tree, parents, subject, body = told.split("\0")
    return Tag(name, sha, commit, tree, parents.split(), subject, body.strip()) if known == [name, "commit"] else None


def write_tag(repo: git.Repo, name: str, commit: str, who: str, date: int, message: str) -> str:
    """The SHA of a new tag object, to which no ref points yet. `date` is Unix seconds UTC."""
    text = f"object {commit}\ntype commit\ntag {name}\ntagger {who} {date} +0000\n\n{message.strip()}\n"
    return _feed(repo.git.mktag, text.encode())


def _feed(command, data: bytes, *arguments: str) -> str:
    # GitPython hands istream to the child as its stdin: only a real file has a descriptor
    with tempfile.TemporaryFile() as stream:
        stream.write(data)
        stream.seek(0)
        return command(*arguments, istream=stream)


def last_line(error: git.GitCommandError) -> str:
    """What git complains about, in one line: its last fatal or rejected line, else the last one."""
    lines = [line.strip(" '\"") for line in str(error.stderr).removeprefix("\n  stderr: ").splitlines()]
    speaking = [line for line in lines if line.startswith(("fatal:", "error:", "!"))] or [
        line for line in lines if line
    ]
    return speaking[-1] if speaking else str(error)


@contextlib.contextmanager
def exclusive(repo: git.Repo) -> Iterator[None]:
    """One of our writers at a time in this repository, on refs without the locks of a killed one."""
    with open(common_dir(repo) / "labs.lock", "a") as handle:
        fcntl.flock(handle, fcntl.LOCK_EX)
        remove_stale_locks(common_dir(repo))
        yield


def remove_stale_locks(git_dir: Path) -> None:
    """Remove the ref locks that outlive PATIENCE_S: kill -9 leaves them and git then refuses that ref for ever."""
    found = _locks(git_dir)
    if not found:
        return
    time.sleep(PATIENCE_S)
    for path, inode in _locks(git_dir).items():
        if found.get(path) == inode:
            path.unlink(missing_ok=True)


def _locks(git_dir: Path) -> dict[Path, int]:
    paths = [*(git_dir / "refs").rglob("*.lock"), git_dir / "packed-refs.lock", git_dir / "HEAD.lock"]
    locks = {}
    for path in paths:
        with contextlib.suppress(FileNotFoundError):
            locks[path] = path.stat().st_ino
    return locks
