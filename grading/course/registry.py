"""The package registry, through the index that the user's pip is set to: which archives there are, and their bytes."""

import ast
import os
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit, urlunsplit

from packaging.version import Version
from pypi_simple import PYPI_SIMPLE_ENDPOINT, DistributionPackage, NoSuchProjectError, PyPISimple
from requests import RequestException, Response
from urllib3.exceptions import HTTPError

from grading.course.snapshots import SnapshotError

TIMEOUT_S = (10, 30)  # to connect, and between two pieces of an answer
BLOCK = 1 << 18
SECTIONS = ("global", "install", "download")  # of pip's configuration; a later one has precedence
Say = Callable[[int], None]  # told how many bytes are here


@dataclass(frozen=True)
class Index:
    """A package index, and the file of authorities that vouch for it ("" = those that everybody trusts)."""

    url: str = PYPI_SIMPLE_ENDPOINT
    cert: str = ""

    @property
    def shown(self) -> str:
        """The address without the user's name and password."""
        parts = urlsplit(self.url)
        return urlunsplit(parts._replace(netloc=parts.netloc.rpartition("@")[2]))

    @contextmanager
    def open(self) -> Iterator[PyPISimple]:
        """A client. What the network says against it becomes a SnapshotError."""
        with PyPISimple(self.url) as client:
            client.s.verify = self.cert or True
            try:
                yield client
            except SnapshotError:
                raise
            except NoSuchProjectError as error:
                raise SnapshotError(f"the index {self.shown} has no project {error.project}") from None
            except (RequestException, HTTPError, ValueError) as error:  # ValueError: an answer in no known form
                raise SnapshotError(f"the index {self.shown} does not answer as it should ({_why(error)})") from None


def configured(environment: Mapping[str, str] = os.environ) -> Index:
    """The index of pip's configuration files and of PIP_INDEX_URL; PyPI where neither names one."""
    said = _pip_says()
    url = environment.get("PIP_INDEX_URL") or said.get("index-url") or PYPI_SIMPLE_ENDPOINT
    return Index(url, environment.get("PIP_CERT") or said.get("cert", ""))


def find(client: PyPISimple, project: str, archive: str) -> DistributionPackage:
    """The archive of that name. SnapshotError where the index has it not."""
    for one in client.get_project_page(project, timeout=TIMEOUT_S).packages:
        if one.filename == archive:
            return one
    raise SnapshotError(f"the index has no file {archive}")


def release(client: PyPISimple, project: str, like: str, old: str, version: str = "") -> DistributionPackage:
    """The archive of `version` ("" = the newest release) that corresponds to `like`, which is one of version `old`."""
    page = client.get_project_page(project, timeout=TIMEOUT_S)
    suffix = "".join(Path(like).suffixes[-1:])
    fit = [one for one in page.packages if one.version and one.filename.endswith(suffix) and not one.is_yanked]
    wanted = version or _newest([one.version for one in fit])
    fit = [one for one in fit if one.version == wanted]
    if not fit:
        raise SnapshotError(f"the index has no {project} {wanted} as a *{suffix} file")
    return min(fit, key=lambda one: (one.filename != like.replace(old, wanted), one.filename))


def load(client: PyPISimple, url: str, into: Path, size: int, say: Say) -> None:
    """The bytes at `url`, `size` of them at most, behind those that `into` holds already."""
    have = into.stat().st_size if into.exists() else 0
    if have >= size:
        return
    wish = {"Accept-Encoding": "identity", **({"Range": f"bytes={have}-"} if have else {})}
    with client.s.get(url, headers=wish, stream=True, timeout=TIMEOUT_S) as answer:
        answer.raise_for_status()
        goes_on = answer.status_code == 206 and answer.headers.get("Content-Range", "").startswith(f"bytes {have}-")
        with into.open("ab" if goes_on else "wb") as file:
            for done in _pieces(answer, file, have if goes_on else 0, size):
                say(done)


def _pieces(answer: Response, file, done: int, size: int) -> Iterator[int]:
    """Write what comes; yields how much is there. The raw stream: an archive must not be decoded on its way."""
    for block in answer.raw.stream(BLOCK, decode_content=False):
        done += len(block)
        if done > size:
            raise SnapshotError(f"the index sends more than the {size} bytes of the lock")
        file.write(block)
        yield done
    if done < size:
        raise SnapshotError(f"the transfer broke off after {done} of {size} bytes; the same command goes on from there")


def _newest(versions: list[str]) -> str:
    """The newest final release, else the newest of all."""
    known = sorted({Version(one) for one in versions})
    final = [one for one in known if not one.is_prerelease]
    return str((final or known or [""])[-1])


def _pip_says() -> dict[str, str]:
    """pip's settings by name; none where there is no pip."""
    command = [sys.executable, "-m", "pip", "--disable-pip-version-check", "config", "list"]
    lines = subprocess.run(command, capture_output=True, text=True).stdout.splitlines()
    found = {}
    for section in SECTIONS:
        for line in lines:
            key, _, value = line.partition("=")
            if key.startswith(f"{section}."):
                found[key.partition(".")[2]] = ast.literal_eval(value)
    return found


def _why(error: Exception) -> str:
    """What went wrong, without the address: it may hold a password."""
    status = getattr(getattr(error, "response", None), "status_code", None)
    return f"HTTP {status}" if status else type(error).__name__
