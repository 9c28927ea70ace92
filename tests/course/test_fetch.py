"""Fetching from a small package index on loopback: hashes, broken transfers, an index that is down."""

import hashlib
import io
import re
import tarfile
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread

import pytest

from grading.course import cache, registry
from grading.course.fetch import fetch, other_release
from grading.course.registry import Index
from grading.course.snapshots import Lock, SnapshotError

QUIET = lambda done: None  # noqa: E731


def archive(text: str, version: str = "1.0") -> bytes:
    whole = io.BytesIO()
    with tarfile.open(fileobj=whole, mode="w:gz") as made:
        for name, content in [("toy/core.py", text), ("LICENSE", "Do as you like.\n"), ("README", "no\n")]:
            one = tarfile.TarInfo(f"toy-{version}/{name}")
            one.size = len(content)
            made.addfile(one, io.BytesIO(content.encode()))
    return whole.getvalue()


GOOD = archive("def f():\n    return 1\n" + "#" * 5000)


class Served:
    """What the index has, how it errs, and which ranges it was asked for."""

    def __init__(self):
        self.files: dict[str, bytes] = {"toy-1.0.tar.gz": GOOD}
        self.cut: int | None = None
        self.ranges: list[str | None] = []
        self.takes_ranges = True

    def page(self) -> str:
        links = [f'<a href="/files/{n}#sha256={hashlib.sha256(c).hexdigest()}">{n}</a>' for n, c in self.files.items()]
        return f"<html><body>{''.join(links)}</body></html>"


@pytest.fixture
def served():
    with serving() as (state, _):
        yield state


@contextmanager
def serving():
    state = Served()

    class Handler(BaseHTTPRequestHandler):
        def do_HEAD(self):
            self.do_GET()

        def do_GET(self):
            if self.path == "/simple/toy/":
                return self._send(200, state.page().encode(), "text/html")
            content = state.files.get(self.path.removeprefix("/files/"))
            if content is None:
                return self._send(404, b"", "text/html")
            asked = self.headers.get("Range")
            first = int(re.match(r"bytes=(\d+)-", asked)[1]) if asked and state.takes_ranges else 0
            if self.command == "GET":
                state.ranges.append(asked)
            self._send(206 if first else 200, content[first:], "application/gzip", first, len(content))

        def _send(self, status, body, kind, first=0, whole=0):
            self.send_response(status)
            self.send_header("Content-Type", kind)
            self.send_header("Content-Length", str(len(body)))
            if status == 206:
                self.send_header("Content-Range", f"bytes {first}-{whole - 1}/{whole}")
            self.end_headers()
            if self.command == "GET":
                self.wfile.write(body if state.cut is None or kind == "text/html" else body[: state.cut])

        def log_message(self, *_):
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    Thread(target=server.serve_forever, daemon=True).start()
    state.index = Index(f"http://ada:secret@127.0.0.1:{server.server_port}/simple/")
    try:
        yield state, server
    finally:
        server.shutdown()
        server.server_close()


@pytest.fixture
def lock(tmp_path, monkeypatch):
    monkeypatch.setenv("MAINLINE_CACHE", str(tmp_path / "cache"))
    return toy_lock(tmp_path, GOOD)


def toy_lock(tmp_path, content: bytes, **changed) -> Lock:
    """The lock of an archive, its tree found by unpacking."""
    from grading.course.unpack import unpack

    made, file = tmp_path / "made" / hashlib.sha256(content).hexdigest(), tmp_path / "toy-1.0.tar.gz"
    made.mkdir(parents=True, exist_ok=True)
    keep = ["toy/*.py", "LICENSE"]
    file.write_bytes(content)
    if not list(made.iterdir()):
        unpack(file, made, keep)
    said = {"name": "toy", "repository": "https://example.org/toy", "ref": "v1.0", "version": "1.0", "licence": "MIT"}
    pinned = {"archive": file.name, "sha256": hashlib.sha256(content).hexdigest(), "size": len(content)}
    return Lock(**{**said, **pinned, "keep": keep, "tree": cache.digest(made), **changed})


def left(cache_top) -> list[str]:
    """What is in the cache besides snapshots."""
    top = cache_top / "snapshots"
    return sorted(
        one.relative_to(top).as_posix() for one in top.rglob("*") if one.name[0] == "." or ".loading" in one.parts
    )


def test_a_fetch_makes_one_read_only_folder(served, lock, tmp_path):
    heard = []
    folder = fetch(lock, heard.append, index=served.index)
    assert folder == tmp_path / "cache/snapshots" / f"toy-1.0-{lock.tree[:12]}"
    assert list(cache.files(folder)) == ["LICENSE", "toy/core.py"]
    assert [oct(one.stat().st_mode)[-3:] for one in (folder, folder / "toy", folder / "LICENSE")] == [
        "555",
        "555",
        "444",
    ]
    assert heard[-1] == len(GOOD)
    assert left(tmp_path / "cache") == [".loading", ".toy.lock"]
    assert cache.licences(lock) == {"LICENSE": b"Do as you like.\n"}


def test_what_is_good_is_not_fetched_again_and_what_is_damaged_is(served, lock):
    folder = fetch(lock, QUIET, index=served.index)
    fetch(lock, QUIET, index=served.index)
    assert served.ranges == [None]
    (folder / "toy/core.py").chmod(0o644)
    (folder / "toy/core.py").write_text("def f():\n    return 2\n")
    assert cache.state(lock) == "damaged"
    fetch(lock, QUIET, index=served.index)
    assert (cache.state(lock), served.ranges) == ("good", [None, None])


def test_a_broken_transfer_goes_on_where_it_broke(served, lock):
    served.cut = 40
    with pytest.raises(SnapshotError):
        fetch(lock, QUIET, index=served.index)
    served.cut = None
    fetch(lock, QUIET, index=served.index)
    assert (served.ranges, cache.state(lock)) == ([None, "bytes=40-"], "good")


def test_a_server_without_ranges_starts_again(served, lock):
    served.cut, served.takes_ranges = 40, False
    with pytest.raises(SnapshotError):
        fetch(lock, QUIET, index=served.index)
    served.cut = None
    fetch(lock, QUIET, index=served.index)
    assert cache.state(lock) == "good"


@pytest.mark.parametrize("bad", [GOOD[:-1] + b"?", b"x" * len(GOOD)])
def test_a_wrong_hash_deletes_nothing_that_was_good(served, lock, tmp_path, bad):
    old = fetch(lock, QUIET, index=served.index)
    newer = toy_lock(tmp_path, archive("def f():\n    return 3\n"), version="1.1")
    served.files["toy-1.0.tar.gz"] = bad[: newer.size].ljust(newer.size, b".")
    with pytest.raises(SnapshotError, match=r"has SHA-256 .* thrown away, nothing changed"):
        fetch(newer, QUIET, index=served.index)
    assert (cache.state(lock), cache.state(newer), old.is_dir()) == ("good", "missing", True)
    assert left(tmp_path / "cache") == [".loading", ".toy.lock"]


def test_more_than_the_lock_says_is_not_taken(served, lock):
    served.files["toy-1.0.tar.gz"] = GOOD + b"more"
    with pytest.raises(SnapshotError, match="sends more than the"):
        fetch(lock, QUIET, index=served.index)


def test_files_that_are_not_the_locks_are_not_kept(served, lock, tmp_path):
    wrong = lock.model_copy(update={"tree": "0" * 64})
    with pytest.raises(SnapshotError, match="unpacks to digest"):
        fetch(wrong, QUIET, index=served.index)
    assert not cache.have(wrong)


def test_an_index_that_is_down_or_has_it_not(lock):
    with serving() as (served, _):
        served.files = {}
        with pytest.raises(SnapshotError, match=r"^the index has no file toy-1\.0\.tar\.gz$"):
            fetch(lock, QUIET, index=served.index)
        other = lock.model_copy(update={"name": "nothing"})
        with pytest.raises(SnapshotError, match=r"^the index http://127\.0\.0\.1:\d+/simple/ has no project nothing$"):
            fetch(other, QUIET, index=served.index)
    with pytest.raises(
        SnapshotError, match=r"^the index http://127.* does not answer as it should \(ConnectionError\)$"
    ):
        fetch(lock, QUIET, index=served.index)


def test_need_names_the_fetch(lock):
    with pytest.raises(SnapshotError, match=r"^toy 1\.0 is not fetched yet: labs snapshots fetch toy$"):
        cache.need(lock)


def test_the_users_index_is_asked(monkeypatch):
    said = {"index-url": "https://one.example/simple", "cert": "/etc/ca.pem"}
    monkeypatch.setattr(registry, "_pip_says", lambda: said)
    assert registry.configured({}) == Index("https://one.example/simple", "/etc/ca.pem")
    assert registry.configured({"PIP_INDEX_URL": "https://two.example/simple"}).url == "https://two.example/simple"
    monkeypatch.setattr(registry, "_pip_says", dict)
    assert registry.configured({}) == Index()


def test_pips_configuration_file_is_read(tmp_path, monkeypatch):
    (tmp_path / "pip.conf").write_text("[global]\nindex-url = https://one.example/simple\n")
    monkeypatch.setenv("PIP_CONFIG_FILE", str(tmp_path / "pip.conf"))
    assert registry._pip_says()["index-url"] == "https://one.example/simple"


def test_another_release_is_unpacked_for_a_while(served, lock, monkeypatch):
    served.files["toy-1.1.tar.gz"] = archive("def f():\n    return 4\n", "1.1")
    served.files["toy-2.0rc1.tar.gz"] = archive("", "2.0rc1")
    monkeypatch.setattr("grading.course.fetch.configured", lambda: served.index)
    with other_release(lock, "", QUIET) as (found, top):
        assert (found.version, found.archive, found.ref) == ("1.1", "toy-1.1.tar.gz", "v1.1")
        assert (top / "toy/core.py").read_text() == "def f():\n    return 4\n"
    assert not top.exists()
    with pytest.raises(SnapshotError, match=r"no toy 9\.9 as a \*\.gz file"), other_release(lock, "9.9", QUIET):
        pass


@pytest.fixture
def upstream(tmp_path, git):
    """A repository with one commit; its folder and the commit."""
    folder = tmp_path / "upstream"
    (folder / "toy").mkdir(parents=True)
    (folder / "toy/core.py").write_bytes(b"def f():\r\n    return 1\r\n")
    (folder / "LICENSE").write_text("Yes.\n")
    (folder / "out.py").symlink_to("/etc/passwd")
    git(folder, "init", "-q")
    git(folder, "add", ".")
    git(folder, "commit", "-qm", "One")
    return folder, git(folder, "rev-parse", "HEAD").strip()


def test_a_snapshot_that_is_no_package_comes_by_git(lock, upstream, tmp_path):
    folder, commit = upstream
    said = {"archive": "", "sha256": "", "size": None, "ref": commit, "repository": "https://127.0.0.1:9/toy"}
    by_git = lock.model_copy(update=said)
    with other_release(by_git, commit, QUIET, str(folder)) as (found, _):
        by_git = found
    here = fetch(by_git, QUIET, str(folder))
    assert list(cache.files(here)) == ["LICENSE", "toy/core.py"]
    assert (here / "toy/core.py").read_bytes().endswith(b"\r\n")
    elsewhere = by_git.model_copy(update={"name": "other"})
    with pytest.raises(SnapshotError, match=r"does not come from https://127.*else: labs snapshots fetch other --from"):
        fetch(elsewhere, QUIET)


def test_from_is_for_git_alone(served, lock):
    with pytest.raises(SnapshotError, match="leave --from out"):
        fetch(lock, QUIET, "/somewhere", served.index)
