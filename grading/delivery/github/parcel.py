"""The artifact that goes from the job that runs a learner's code to the job that may write: checked as if forged."""

import json
import os
import stat
import zipfile
from pathlib import Path
from typing import Literal

from pydantic import Field, ValidationError

from grading.course.catalog import Lab
from grading.course.files import write_whole
from grading.feedback import diagnose
from grading.feedback.diagnose import Diagnosis
from grading.judge.report import Model, Report, Verdict

FILE = "report.json"
MOST_ZIPPED = 2**20
MOST_BYTES = 4 * 2**20
MOST_TESTS = 500


class ParcelError(Exception):
    """The artifact is not what our own grade job writes. The message holds nothing of its content."""


class Parcel(Model):
    """A Report and whose it is. `run`: GITHUB_RUN_ID, so that no old artifact passes for a new one."""

    schema_version: Literal[1] = Field(default=1, alias="schema")
    repository: str
    pull: int
    head: str
    run: str
    report: Report
    diagnosis: Diagnosis | None = Field(default=None, description="made where the mistakes are; a catalogue has none")

    model_config = Model.model_config | {"populate_by_name": True, "serialize_by_alias": True}


def write(parcel: Parcel, folder: Path) -> Path:
    """Write the parcel whole, or not at all."""
    folder.mkdir(parents=True, exist_ok=True)
    write_whole(folder / FILE, parcel.model_dump_json())
    return folder / FILE


def read(path: Path, lab: Lab, repository: str, pull: int, head: str, run: str, seal: str = "patch") -> Parcel:
    """The parcel in a folder (as download-artifact leaves it) or a zip; ParcelError unless it is of this very run."""
    try:
        parcel = Parcel.model_validate(json.loads(_content(path)))
    except ValidationError as error:
        raise ParcelError(f"the report does not fit its schema ({error.error_count()} places)") from None
    except (ValueError, RecursionError):
        raise ParcelError("the report is no JSON") from None
    for name, wanted in {"repository": repository, "pull": pull, "head": head, "run": run}.items():
        if getattr(parcel, name) != wanted:
            raise ParcelError(f"the report is of another {name}")
    _check(parcel.report, lab, head, seal)
    return parcel


def _check(report: Report, lab: Lab, head: str, seal: str) -> None:
    """The verdict has to follow from the tests, and the tests have to be the lab's (of the GPU's there is no list)."""
    known = diagnose.test_ids(lab) if seal == "patch" else []
    ids = [test.id for test in report.tests]
    if (report.lab, report.commit, report.seal) != (lab.id, head, seal):
        raise ParcelError("the report is of another lab, commit or seal")
    if len(ids) > MOST_TESTS or len(set(ids)) != len(ids) or (known and not set(ids) <= set(known)):
        raise ParcelError(f"the report names tests that {lab.id} does not have")
    if report.verdict is Verdict.PASS and not _passed(report, known):
        raise ParcelError("the report says PASS, which its tests do not")


def _passed(report: Report, known: list[str]) -> bool:
    """Whether every test of the lab passed, one of them no guard. The catalogue of a sealed course knows no ids."""
    passed = {test.id for test in report.tests if test.outcome == "passed"}
    complete = passed >= set(known) and len(passed) == len(report.tests)
    return complete and report.counts and any(not test.guard for test in report.tests)


def _content(path: Path) -> bytes:
    try:
        return _zipped(path) if path.is_file() else _plain(path)
    except (OSError, zipfile.BadZipFile, NotImplementedError, RuntimeError, EOFError) as error:
        raise ParcelError(f"there is no report to read ({type(error).__name__})") from None


def _plain(folder: Path) -> bytes:
    if os.listdir(folder) != [FILE]:
        raise ParcelError(f"the artifact is not the one file {FILE}")
    with open(os.open(folder / FILE, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK), "rb") as file:
        if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
            raise ParcelError(f"{FILE} is no ordinary file")
        return _capped(file.read(MOST_BYTES + 1))


def _zipped(path: Path) -> bytes:
    """The one member of a zip, read in memory: nothing of it is ever extracted."""
    if path.stat().st_size > MOST_ZIPPED:
        raise ParcelError(f"the artifact is larger than {MOST_ZIPPED} bytes")
    with zipfile.ZipFile(path) as archive:
        members = archive.infolist()
        if [one.filename for one in members] != [FILE] or stat.S_ISLNK(members[0].external_attr >> 16):
            raise ParcelError(f"the artifact is not the one file {FILE}")
        with archive.open(members[0]) as file:
            return _capped(file.read(MOST_BYTES + 1))


def _capped(content: bytes) -> bytes:
    if len(content) > MOST_BYTES:
        raise ParcelError(f"the report is larger than {MOST_BYTES} bytes")
    return content
