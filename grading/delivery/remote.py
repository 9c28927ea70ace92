"""Where branches and tags are written to: a repository on this disk, or a remote by way of a scratch repository."""

import contextlib
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import git

from grading.delivery import plumbing
from grading.sandbox.scratch import Scratch

Push = Callable[[Sequence[str]], None]


class PublishError(Exception):
    """Nothing was published or released; the message is one line for the maintainer."""


@contextlib.contextmanager
def target(to: str, start: Path, *fetched: str) -> Iterator[tuple[git.Repo, Push]]:
    """The repository to write to, and what brings refs from it to where they are meant for.

    `to` is a folder, the name of a remote known at `start`, or a URL; of a remote the refs of the patterns `fetched`
    are there, and `push` moves refs there all or none, never by force. In a folder it has nothing to do.
    """
    if Path(to).is_dir():
        yield open_target(Path(to)), lambda refs: None
        return
    url = _url(to, start)
    with Scratch() as folder:
        scratch = git.Repo.init(folder, bare=True)
        with _refused_by(url):
            scratch.git.fetch("--quiet", "--no-tags", url, *(f"+{ref}:{ref}" for ref in fetched))

        def push(refs: Sequence[str]) -> None:
            with _refused_by(url):
                scratch.git.push("--quiet", "--atomic", url, *(f"{ref}:{ref}" for ref in refs))

        yield scratch, push


def open_target(path: Path) -> git.Repo:
    """The repository at `path`; PublishError where there is none."""
    try:
        return plumbing.open_repository(path)
    except (git.InvalidGitRepositoryError, git.NoSuchPathError):
        raise PublishError(f"{path} is not a Git repository: make one with `git init --bare {path}`") from None


def _url(to: str, start: Path) -> str:
    if ":" in to:
        return to
    with contextlib.suppress(git.GitError):
        repo = plumbing.open_repository(start)
        url = repo.git.remote("get-url", "--push", "--", to)
        return url if ":" in url else str(Path(repo.working_dir, url))  # git takes a path from the work tree
    raise PublishError(
        f"{to!r} is no repository, URL or remote: `git init --bare {to}` makes the first, if you meant it"
    )


@contextlib.contextmanager
def _refused_by(url: str) -> Iterator[None]:
    try:
        yield
    except git.GitCommandError as error:
        raise PublishError(f"{url}: {plumbing.last_line(error)}") from None
