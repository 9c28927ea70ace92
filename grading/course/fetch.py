"""Bring a pinned release into the cache: the archive, its hashes, its files, and only then the folder's name."""

import fcntl
import hashlib
import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from grading.course import cache
from grading.course.registry import Index, Say, configured, find, load, release
from grading.course.snapshots import Lock, SnapshotError
from grading.course.unpack import lock_up, unpack

GIT_S = 120
SETTINGS = ["-c", "safe.directory=*", "-c", "core.autocrlf=false", "-c", f"core.attributesFile={os.devnull}"]
SLOW = ["-c", "http.lowSpeedLimit=1000", "-c", "http.lowSpeedTime=20"]  # bytes a second for so many seconds
ELSEWHERE = {"GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE", "GIT_OBJECT_DIRECTORY", "GIT_COMMON_DIR", "GIT_NAMESPACE"}
LOADING = ".loading"
MOST_ARCHIVE = 1 << 28  # bytes of an archive whose size no lock says


def fetch(lock: Lock, say: Say, source: str = "", index: Index | None = None) -> Path:
    """The snapshot's folder, fetched unless its files are there and good.

    `source`: for a snapshot that comes by git, the repository to take it from instead of the lock's. What is in the
    cache is replaced only by files that have the lock's digest; what of an archive is loaded stays for the next try.
    """
    home = cache.home() / "snapshots"
    try:
        (home / LOADING).mkdir(parents=True, exist_ok=True)
        with _alone(home / f".{lock.name}.lock"):
            if cache.state(lock) != "good":
                archive = home / LOADING / (lock.archive or f"{lock.name}.tar.gz")
                _load(lock, archive, say, source, index)
                _place(lock, archive, home / f".{lock.name}.new")
                archive.unlink()
    except OSError as error:
        raise SnapshotError(f"the cache {home} cannot be written: {error.strerror or error}") from None
    return cache.folder(lock)


@contextmanager
def other_release(lock: Lock, version: str, say: Say, source: str = "") -> Iterator[tuple[Lock, Path]]:
    """Another release of the same project, unpacked for as long as the block lasts; "" = the newest.

    The lock that comes with it has the release's archive, hashes and tree, and the anchors of the given lock.
    """
    with tempfile.TemporaryDirectory(prefix="labs-release-") as name:
        made = Path(name) / "files"
        made.mkdir()
        if lock.archive:
            found = _registered(lock, version, Path(name), say)
        else:
            ref = _by_git(lock, version or "HEAD", Path(name) / f"{lock.name}.tar.gz", source)
            found = lock if ref == lock.ref else lock.model_copy(update={"ref": ref, "version": ref[:12]})
        unpack(Path(name) / (found.archive or f"{lock.name}.tar.gz"), made, lock.keep)
        yield found.model_copy(update={"tree": cache.digest(made)}), made


def _registered(lock: Lock, version: str, into: Path, say: Say) -> Lock:
    """Load a release that no lock describes into a folder; its lock, hashed from what came."""
    with configured().open() as client:
        one = release(client, lock.name, lock.archive, lock.version, version)
        archive = into / Path(one.filename).name
        size = one.size or int(
            client.s.head(one.url, allow_redirects=True, timeout=30).headers.get("Content-Length", 0)
        )
        if not 0 < size <= MOST_ARCHIVE:
            raise SnapshotError(f"{archive.name} has {size} bytes; up to {MOST_ARCHIVE} are loaded here")
        load(client, one.url, archive, size, say)
    sha = _sha256(archive)
    if one.digests.get("sha256", sha) != sha:
        raise SnapshotError(f"{archive.name} has not the SHA-256 that the index names")
    changed = {"ref": lock.ref.replace(lock.version, one.version), "version": one.version}
    return lock.model_copy(update={**changed, "archive": archive.name, "sha256": sha, "size": size})


def _load(lock: Lock, archive: Path, say: Say, source: str, index: Index | None) -> None:
    """The archive, whole and checked."""
    if not lock.tree:
        raise SnapshotError(f"upstream_snapshots/{lock.name}.yaml names no tree: scripts/pin_snapshot.py writes it")
    if not lock.archive:
        _by_git(lock, lock.ref, archive, source)
        return
    if source:
        raise SnapshotError(f"{lock.name} comes from the package index, not by git: leave --from out")
    with (index or configured()).open() as client:
        load(client, find(client, lock.name, lock.archive).url, archive, lock.size, say)
    if (found := _sha256(archive)) != lock.sha256:
        archive.unlink()
        raise SnapshotError(f"{lock.archive} has SHA-256 {found}, not that of its lock: thrown away, nothing changed")


def _place(lock: Lock, archive: Path, empty: Path) -> None:
    """Unpack an archive into the empty folder, compare, and give the folder the snapshot's name."""
    _delete(empty)
    empty.mkdir()
    try:
        unpack(archive, empty, lock.keep)
        if (found := cache.digest(empty)) != lock.tree:
            raise SnapshotError(f"{lock.name} {lock.version} unpacks to digest {found}, not to the tree of its lock")
        lock_up(empty)
        folder, old = cache.folder(lock), empty.with_suffix(".old")
        _delete(old)
        if folder.exists():
            folder.rename(old)
        empty.rename(folder)
        _delete(old)
    finally:
        _delete(empty)


def _by_git(lock: Lock, ref: str, archive: Path, source: str) -> str:
    """Write the files of one commit as an archive; returns the commit."""
    given = source or lock.repository
    local = Path(given).expanduser()
    url = local.resolve().as_uri() if local.exists() else given
    with tempfile.TemporaryDirectory(prefix="labs-git-") as folder:
        try:
            _git(folder, "init", "--quiet", "--bare")
            _git(folder, *SLOW, "fetch", "--quiet", "--depth=1", "--no-tags", "--", url, ref)
            commit = _git(folder, "rev-parse", "FETCH_HEAD^{commit}")
            whole = ["--format=tar.gz", f"--prefix={lock.name}/", f"--output={archive.resolve()}", commit]
            _git(folder, "archive", *whole, "--", *lock.keep)  # git's * matches a slash too, as fnmatch's does
        except SnapshotError as error:
            here = f"labs snapshots fetch {lock.name} --from PATH_OF_A_CLONE"
            raise SnapshotError(
                f"{lock.name} at {ref[:12]} does not come from {given} ({error}); else: {here}"
            ) from None
    return commit


def _git(folder: str, *arguments: str) -> str:
    """The user's own git, whose proxies and credentials count; it asks nobody anything and changes no line ends."""
    environment = {name: value for name, value in os.environ.items() if name not in ELSEWHERE}
    environment |= {"GIT_TERMINAL_PROMPT": "0", "LC_ALL": "C"}
    command = ["git", *SETTINGS, *arguments]
    try:
        done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, timeout=GIT_S)
    except subprocess.TimeoutExpired:
        raise SnapshotError(f"no answer in {GIT_S} s") from None
    except OSError as error:
        raise SnapshotError(f"git did not start: {error}") from None
    if done.returncode:
        raise SnapshotError((done.stderr.strip().splitlines() or ["git failed"])[-1])
    return done.stdout.strip()


@contextmanager
def _alone(file: Path) -> Iterator[None]:
    """One fetch of a snapshot at a time; a second one waits and finds it there."""
    with file.open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def _delete(folder: Path) -> None:
    """A folder of the cache with all that is in it, read-only or not."""
    for one in [folder, *folder.rglob("*")] if folder.exists() else []:
        if one.is_dir() and not one.is_symlink():
            one.chmod(0o755)
    shutil.rmtree(folder, ignore_errors=True)


def _sha256(file: Path) -> str:
    with file.open("rb") as opened:
        return hashlib.file_digest(opened, "sha256").hexdigest()
